"""Headscope's router: what every page shares, then the page. `make run` starts it."""

import streamlit as st
from streamlit import runtime

if __name__ == "__main__" and not runtime.exists():
    from viz.shell import desktop

    raise SystemExit(desktop.main())

from viz.browser.drawer import close_drawer
from viz.draw import style
from viz.shell import address, bar, session, stage, tools
from viz.shell.reader import show_reading
from viz.shell.scene_panel import title_scene
from viz.shell.theme import watch_theme
from viz.shell.welcome import show_welcome

st.set_page_config(page_title="Headscope", page_icon=style.ICON, layout="wide")
st.logo(style.LOGO, size="large")
about = st.Page("viz/about/page.py", title="About", url_path="about", icon=":material/info:")
pages = [
    st.Page("viz/heads/page.py", title="Heads", icon=":material/grid_on:"),
    st.Page("viz/masks/page.py", title="Masks", url_path="masks", icon=":material/visibility_off:"),
    st.Page(
        "viz/positions/page.py", title="Positions", url_path="positions", icon=":material/pin:"
    ),
    about,
]
page = st.navigation(pages, position="top")
address.arrive(page.url_path, pages)
stage.begin()
tools.show_tools()
# Before the page for whoever goes by keyboard, and filled after it, when its view stands.
reading = st.container(key="reader")
show_welcome()
notices = st.container(key="notices")
if page.url_path != about.url_path:
    bar.ask()
page.run()
title_scene()
with notices:
    # Only now is known what the page could not take.
    address.show_notices()
stage.show_foot()
close_drawer()
watch_theme()
address.write_address()
with reading:
    show_reading()
session.settle()
