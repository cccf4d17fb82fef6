"""Shows all heads of two random traces in turn and nothing else, for benchmarks/browser.py.

python -m streamlit run benchmarks/_browser_app.py, then open it with ?shape=6x8x128
"""

import streamlit as st
from starlette.middleware import Middleware
from streamlit.starlette import App

from benchmarks._inputs import Shape, made_up
from model.explain.facts import head_facts
from model.explain.reading import read
from model.serving import idle_gc
from viz.browser.model_view import heads_view
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import Figure, pack
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
        trace = made_up(shape, seed)
        seen = read(trace)
        return Figure(
            trace=trace,
            seen=seen,
            facts={site: head_facts(attention) for site, attention in seen.maps.items()},
            arcs=arcs_of(trace, None),
            positions={},
            labels=dict.fromkeys(seen.maps, (None,) * shape.heads),
        )

    shape = Shape.parse(st.query_params.get("shape", "6x8x32"))
    epoch = st.session_state.setdefault("epoch", 0)
    both = [prepared(shape, seed) for seed in (0, 1)]
    # Packed anew each time, like a new sentence.
    selection = {"attention": "encoder", "layer": "0", "head": "0", "view": "heatmap"}

    def show_the_other() -> None:
        st.session_state["epoch"] += 1

    st.button("Show the other", on_click=show_the_other)
    heads_view(
        pack(both[epoch % 2], key=str(epoch), epoch=epoch, selection=selection),
        key="heads",
        on_open=lambda: None,
        on_rested=lambda: None,
        on_corpus=lambda: None,
        on_model=lambda: None,
    )
    collect_when_idle()
