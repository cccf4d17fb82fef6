"""Headscope's router: what every page shares, then the page. `make run` starts it."""

import streamlit as st

from viz import address, bar, session, style
from viz.components.theme import watch_theme

st.set_page_config(page_title="Headscope", page_icon=style.ICON, layout="wide")
st.logo(style.LOGO, size="large")
st.html(style.PAGE_CSS)
about = st.Page("viz/pages/about.py", title="About", icon=":material/info:")
page = st.navigation(
    [
        st.Page("viz/pages/heads.py", title="Heads", icon=":material/grid_on:"),
        st.Page("viz/pages/masks.py", title="Masks", icon=":material/visibility_off:"),
        st.Page("viz/pages/positions.py", title="Positions", icon=":material/pin:"),
        about,
    ],
    position="top",
)
address.arrive(page.url_path)
if page.url_path != about.url_path:
    bar.ask()
page.run()
watch_theme()
address.write_address()
session.settle()
