"""Headscope's router: what every page shares, then the page. `make run` starts it."""

import streamlit as st

from viz import session, style
from viz.components.theme import watch_theme

st.set_page_config(page_title="Headscope", page_icon=style.ICON, layout="wide")
st.logo(style.LOGO, size="large")
page = st.navigation(
    [st.Page("viz/pages/heads.py", title="Heads", icon=":material/grid_on:")], position="top"
)
st.text_input(
    "English sentence",
    session.DEFAULT_SENTENCE,
    key="sentence",
    icon=":material/translate:",
    placeholder="Type a sentence and press Enter",
    bind="query-params",
)
page.run()
watch_theme()
session.settle()
