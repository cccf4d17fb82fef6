"""Headscope: the server, the router of its pages, and the desktop window. `make run` starts it.

Streamlit imports this file for the server, and runs it for every page.
"""

import streamlit as st
from streamlit import runtime
from streamlit.starlette import App

if __name__ != "__main__":
    from viz.server import server

    app = App(__file__, lifespan=server.lifespan, middleware=server.MIDDLEWARE)

elif not runtime.exists():
    from viz.desktop import desktop

    raise SystemExit(desktop.main())

else:
    from importlib import import_module

    from viz import pages as scripts
    from viz.about.view import VIEW as ABOUT
    from viz.browser import whole_app
    from viz.browser.drawer import close_drawer
    from viz.draw import style
    from viz.draw.keys import Keys
    from viz.registry.pages import HOME, VIEWS
    from viz.service import session
    from viz.service.page_turns import BUILDING
    from viz.shell import address, bar, inquiry_field, speaker_view, stage, tab_row
    from viz.shell.share_panel import show_share
    from viz.shell.theme import watch_theme
    from viz.talk.help import show_help
    from viz.talk.on_every_page import show_talk, title_scene
    from viz.talk.reading_footer import READER, show_reading
    from viz.talk.scene_panel import show_scenes

    def show_page() -> None:
        """Show the open page below the sentence bar, with the bar's question."""
        show = import_module(f"{scripts.__name__}.{view.name}").show
        address.open_address(view.parameters)
        if not view.asks:
            show()
        elif question is not None:
            show(question)

    with BUILDING.turn():
        st.set_page_config(page_title="Headscope", page_icon=style.ICON, layout="wide")
        st.logo(style.LOGO, size="large")
        pages = {
            name: st.Page(
                show_page,
                title=view.title,
                icon=view.icon,
                url_path=name,
                default=name == HOME,
                # A page to read stands behind Help, and leaves the menu to the pictures.
                visibility="hidden" if name == ABOUT.name else "visible",
            )
            for name, view in VIEWS.items()
        }
        # In another page's frame there is room for the picture, and not for an app around it.
        is_frame = whole_app.is_embedded()
        page = st.navigation([*pages.values()], position="hidden" if is_frame else "top")
        address.begin_run(page.url_path, [*pages.values()])
        stage.begin()
        show_talk()
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", key=Keys("tools")()
        ):
            if is_frame:
                whole_app.show_link()
            else:
                stage.show_button()
                show_scenes()
                show_share()
                show_help(pages[ABOUT.name])
        # Ahead of the page for keyboard users, but filled after it, when its view is known.
        reading = st.container(key=READER())
        view = VIEWS[page.url_path or HOME]
        notices = st.container(key=Keys("notices")())
        question = None
        if view.asks:
            question = bar.ask(view)
        else:
            inquiry_field.begin()
        with st.container(key=inquiry_field.ANSWER()):
            inquiry_field.show_answer(bar.opened(), view)
        tab_row.begin()
        with session.refusals():
            page.run()
        title_scene()
        inquiry_field.show_field(bar.opened())
        with notices:
            # The page knows by now which parts of the address it could not apply.
            address.show_notices()
        stage.show_foot()
        close_drawer()
        watch_theme()
        address.write_address()
        speaker_view.tell(question)
        with reading:
            show_reading()
