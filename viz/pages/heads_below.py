"""What stands below the picture of all heads, and belongs to its selection."""

from collections.abc import Mapping, Sequence

import streamlit as st

from model.checkpoints.checkpoint import snapshots
from model.checkpoints.shipped import CheckpointError
from model.explain.growth import Growth
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from viz.browser.kept import Kept
from viz.browser.trace_payload import JOINT
from viz.draw.labels import escape_markdown
from viz.heads import training_curves
from viz.heads.childhood import Childhood
from viz.heads.matrices import WeightMatrices
from viz.heads.one_head import OneHead
from viz.heads.pictures_to_save import pictures_to_save
from viz.heads.query_key import QueryKey
from viz.heads.tables import weights_table
from viz.heads.view import KEYS, RULE, SECTIONS, TRAINING, HeadsView
from viz.heads.whole_view import WholeView
from viz.pages.heads_facts import show_facts
from viz.pages.heads_rule import read_rules, show_rule
from viz.pages.heads_trace import Prepared, selected_sites
from viz.save.formats import ExportError
from viz.service import session
from viz.service.jobs.running import record, translate
from viz.service.questions import ModelQuestion, Question, ReaderQuestion, TraceQuestion
from viz.service.versions import snapshot_of, version_of
from viz.shell import address
from viz.shell.save_menu import captioned, show_picture
from viz.shell.widgets import hint, menu, segments

SECTION_ICONS = {
    "facts": ":material/insights:",
    RULE: ":material/rule:",
    "numbers": ":material/table:",
    "query-key": ":material/join_inner:",
    "matrices": ":material/view_module:",
    TRAINING: ":material/timeline:",
}


WIDTH: Kept[object] = Kept(KEYS("width"), lambda: "wide")
"""How wide the picture of all heads says that it is."""


def opens_cells(trace: Trace) -> bool:
    """Whether queries, keys and scores were recorded."""
    return all(
        array is not None for seen in trace.maps.values() for array in (seen.q, seen.k, seen.scores)
    )


def show_below(prepared: Prepared, view: HeadsView, losses: Mapping[Site, FloatArray]) -> None:
    """What belongs to the selection in the picture."""
    sites, head = selected_sites(prepared, view)
    whole = WholeView(
        prepared.trace,
        prepared.seen,
        prepared.facts,
        prepared.labels,
        prepared.question.sentence,
        view.selection,
        losses or None,
    )
    captioned(
        ":material/info: A weight says where a head looks, not why the model wrote a word. "
        "[What the pictures can and cannot tell](about)",
        [
            *pictures_to_save(whole, sites, head, target=prepared.target),
            *childhood(prepared, sites[0], head),
        ],
        KEYS("picture"),
    )
    question = prepared.question
    grown, rules = read_training(question), read_rules(prepared, sites, head)
    there = {TRAINING: grown is not None, RULE: rules is not None}
    if not there.get(view.below, True):
        address.change(below="facts")
        view = address.read(HeadsView)
    sections = {
        section: f"{SECTION_ICONS[section]} {name}"
        for section, name in SECTIONS.items()
        if there.get(section, True)
    }
    segments("Below the picture", sections, key=KEYS("below"))
    match view.below:
        case "rule" if rules is not None and isinstance(question, ModelQuestion):
            show_rule(question, rules, sites, head, narrow=WIDTH.value == "narrow")
        case "numbers":
            show_numbers(prepared, sites, head)
        case "query-key":
            show_query_key(prepared, view, head)
        case "matrices":
            show_matrices(question, sites, head)
        case "training" if grown is not None and isinstance(question, ModelQuestion):
            show_training(question, view, grown, sites, head)
        case _:
            show_facts(prepared, sites, head)


def show_matrices(question: Question, sites: Sequence[Site], head: int) -> None:
    """The weight matrices of the selected heads."""
    match question:
        case ModelQuestion():
            model = session.translator(question.checkpoint)
            for site in sites:
                matrices = model.head_matrices(site, head)
                show_picture(WeightMatrices(matrices, site, head), KEYS("matrices", site))
        case ReaderQuestion():
            hint("Weight matrices are shown only for Headscope's own models.")
        case TraceQuestion():
            hint("A trace holds no weight matrices; open its model to see them.")


def childhood(prepared: Prepared, site: Site, head: int) -> list[Childhood]:
    """The selected head, and every head beside it, through the training; none without snapshots."""
    question = prepared.question
    if not isinstance(question, ModelQuestion):
        return []
    folder, sentence = question.folder, question.sentence
    steps = snapshots(folder)

    def trace_at(place: int) -> Trace:
        finished = session.ask(translate(version_of(folder), sentence)).translation
        target = question.target or finished.text
        return session.ask(record(version_of(snapshot_of(folder, steps[place])), sentence, target))

    films = [
        Childhood(steps, trace_at, prepared.reading, site.kind, *one)
        for one in ((site.layer, head), (None, None))
    ]
    return films if steps else []


def one_head(prepared: Prepared, site: Site, head: int) -> OneHead:
    """One head as a picture."""
    return OneHead(prepared.seen, site, head, target=prepared.target)


def show_numbers(prepared: Prepared, sites: list[Site], head: int) -> None:
    """Every weight of the selected head in a table."""
    for site in sites:
        seen = prepared.seen
        st.dataframe(
            weights_table(seen.maps[site], head, seen.beside.get(site.kind)),
            key=KEYS("numbers", site),
            hide_index=True,
            height=420,
            column_config={
                "Weight": st.column_config.NumberColumn(format="%.6g"),
                "Score": st.column_config.NumberColumn(format="%.6g"),
            },
        )
        captioned(
            f"{site.head_name(head)}: one row for every query and key. Click a column to sort.",
            [one_head(prepared, site, head)],
            KEYS("numbers-of", site),
        )


def show_query_key(prepared: Prepared, view: HeadsView, head: int) -> None:
    """One cell from the inside: query times key, the score, and the softmax it enters."""
    if not opens_cells(prepared.trace):
        hint("This trace has no queries, keys or scores; record them to look into a cell.")
        return
    found = picked_cell(prepared, view)
    if found is None:
        first = "Click" if view.view == "heatmap" else "Choose Heatmap above, then click"
        st.info(
            f"{first} a cell of the large heatmap to see how query and key produce its weight.",
            icon=":material/left_click:",
        )
        return
    site, query, key = found
    seen = prepared.seen.maps[site]
    if seen.q is None or seen.k is None:
        hint("A whole word has no query and key of its own; switch “Whole words” off.")
        return
    picture = QueryKey(prepared.seen, site, head, query, key, target=prepared.target)
    narrow = WIDTH.value != "wide"
    try:
        show_picture(picture, KEYS("query-key"), narrow=narrow)
    except ExportError as error:
        hint(escape_markdown(str(error)))


def picked_cell(prepared: Prepared, view: HeadsView) -> tuple[Site, int, int] | None:
    """The site, query and key of the clicked cell, if this trace has it."""
    if not view.cell:
        return None
    query, key = map(int, view.cell.split("."))
    sites, _ = selected_sites(prepared, view)
    if view.attention == JOINT:
        n_source = len(prepared.seen.source)
        kind = AttentionKind.ENCODER
        if query >= n_source:
            kind = AttentionKind.CROSS if key < n_source else AttentionKind.DECODER
            query -= n_source
            key -= n_source if kind is AttentionKind.DECODER else 0
        sites = [site for site in sites if site.kind is kind]
    if not sites:
        return None
    seen = prepared.seen.maps[sites[0]]
    inside = query < len(seen.queries) and key < len(seen.keys)
    return (sites[0], query, key) if inside else None


def read_training(question: Question) -> Growth | None:
    """The heads' measures during training; None where they were not recorded."""
    if not isinstance(question, ModelQuestion):
        return None
    try:
        return session.growth(question.checkpoint)
    except CheckpointError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        return None


def show_training(
    question: ModelQuestion, view: HeadsView, grown: Growth, sites: Sequence[Site], head: int
) -> None:
    """The curves of one measure, for each selected head's kind of attention."""
    there = [key for site in sites for key in grown.measures(site.kind)]
    options = {"": "What this head does most"}
    options |= {key: training_curves.NAMES[key] for key in there}
    if view.grown not in options:
        # Another kind of attention has other measures.
        address.change(grown="")
        view = address.read(HeadsView)
    menu("What the curves show", options, key=KEYS("grown"), width=420)
    for site in sites:
        measure = view.grown if view.grown in grown.measures(site.kind) else ""
        if measure := measure or grown.most(site, head) or "":
            picture = training_curves.HeadGrowth(grown, measure, site, head, question.model_name)
            narrow = WIDTH.value == "narrow"
            show_picture(picture, KEYS("training-of", site), narrow=narrow)
