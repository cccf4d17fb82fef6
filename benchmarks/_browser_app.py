"""Shows all heads of two random traces in turn and nothing else, for benchmarks/browser.py.

python -m streamlit run benchmarks/_browser_app.py, then open it with ?shape=6x8x128
"""

import streamlit as st
from starlette.middleware import Middleware
from streamlit.starlette import App

from benchmarks._inputs import Shape, made_up
from model.explain.measures import head_facts
from model.explain.reading import read
from viz.browser.explorer import explorer
from viz.browser.trace_payload import pack
from viz.server import idle_gc
from viz.server.component_code import ComponentCode

if __name__ != "__main__":
    app = App(__file__, middleware=[Middleware(ComponentCode)])

else:
    st.set_page_config(layout="wide")

    @st.cache_resource
    def collect_when_idle():
        """As in the app, once the modules of a page are loaded."""
        return idle_gc.collect_when_idle()

    # One shape at a time: two of the largest traces take 300 MB.
    @st.cache_resource(max_entries=2)
    def prepared(shape: Shape, seed: int):
        seen = read(made_up(shape, seed))
        return (
            seen,
            {site: head_facts(attention) for site, attention in seen.maps.items()},
            dict.fromkeys(seen.maps, (None,) * shape.heads),
        )

    shape = Shape.parse(st.query_params.get("shape", "6x8x32"))
    epoch = st.session_state.setdefault("epoch", 0)
    both = [prepared(shape, seed) for seed in (0, 1)]
    # Packed anew each time, like a new sentence.
    seen, facts, labels = both[epoch % 2]
    selection = {"attention": "encoder", "layer": "0", "head": "0", "view": "heatmap"}

    def show_the_other() -> None:
        st.session_state["epoch"] += 1

    st.button("Show the other", on_click=show_the_other)
    explorer(
        pack(seen, facts, labels, epoch=epoch, selection=selection),
        key="explorer",
        on_selection=lambda: None,
        on_corpus=lambda: None,
        on_model=lambda: None,
    )
    collect_when_idle()
