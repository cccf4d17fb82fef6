"""Heads: every head of every layer at once, and any of them large, with its words and numbers."""

import html
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.shipped import checkpoint_name
from model.explain.growth import Growth
from model.explain.labels import Label, opening_heads
from model.explain.measures import EFFECT, facts_of, written
from model.explain.reading import Reading, Seen, alignment_note, measures_of, read
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.training.growth import read_growth
from viz.browser.envelope import content_id
from viz.browser.explorer import explorer
from viz.browser.messages import told
from viz.draw import css, style
from viz.draw.labels import escape_html, escape_markdown
from viz.effects.view import VIEW as EFFECTS
from viz.effects.view import EffectsView
from viz.heads import pictures, training_curves
from viz.heads.head_sentences import head_words
from viz.heads.matrices import WeightMatrices
from viz.heads.payload import JOINT, pack
from viz.heads.tables import facts_table, weights_table
from viz.heads.view import SECTIONS, SELECTED, TRAINING, USUAL, VIEW, HeadsView
from viz.links.head_refs import written_heads
from viz.links.parameters import write
from viz.save.formats import ExportError
from viz.save.picture import Layout, Picture
from viz.service import session
from viz.shell import address, current_head, stage
from viz.shell.fragments import fragment
from viz.shell.save_menu import captioned, model_of, show_picture
from viz.shell.theme import is_dark

JOINED = (AttentionKind.ENCODER, AttentionKind.CROSS, AttentionKind.DECODER)
"""What the joint picture holds, in the order in which it is read."""

SECTION_ICONS = {
    "facts": ":material/insights:",
    "numbers": ":material/table:",
    "query-key": ":material/join_inner:",
    "matrices": ":material/view_module:",
    TRAINING: ":material/timeline:",
}
BY_NAME = {parameter.name: parameter for parameter in VIEW.parameters}

_HEARD = "_heard"
_TOLD = "_told"
"""How often the explorer was told a selection that it did not make itself, and the last of them."""

_PREPARED = "_prepared"
_MODEL, _PLACES = "_model_of_heads", "_places_of_heads"


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """All that the page shows of one trace, read in one way."""

    question: session.Question
    reading: Reading
    trace: Trace
    seen: Seen
    facts: pictures.Facts
    labels: Mapping[Site, tuple[Label | None, ...]]


def prepare(question: session.Question, reading: Reading) -> Prepared:
    """The trace as it is read, with its facts; kept for as long as both stay the same."""
    kept: Prepared | None = st.session_state.get(_PREPARED)
    if kept is not None and (kept.question, kept.reading) == (question, reading):
        return kept
    labels: Mapping[Site, tuple[Label | None, ...]] = {}
    if question.trace is not None:
        trace = question.trace
        seen = read(trace, reading)
        if question.facts is None:
            seen = replace(seen, file=question.checkpoint.name)
        else:
            seen = replace(seen, folder=checkpoint_name(question.checkpoint))
    else:
        trace = session.trace(question.checkpoint, question.sentence, question.target or None)
        seen = read(trace, reading)
        if seen.by_prediction:
            note = alignment_note(session.read_later(question.checkpoint))
            seen = replace(seen, notes=(*seen.notes, *filter(None, [note])))
    try:
        # A file of a trace has no model, and so no heads that anybody surveyed.
        if question.trace is None or question.facts is not None:
            labels = session.labels(question.checkpoint)
    except CheckpointError as error:
        seen = replace(seen, notes=(*seen.notes, str(error)))
    facts = facts_of(seen.maps)
    prepared = Prepared(question, reading, trace, seen, facts, labels)
    st.session_state[_PREPARED] = prepared
    return prepared


def on_selection() -> None:
    """Take over what was selected in the explorer."""
    selected = told("explorer", "selection")
    if not isinstance(selected, Mapping):
        return
    st.session_state["_width"] = selected.get("width")
    if is_stale(selected):
        return
    before = address.read(HeadsView)
    for name in SELECTED:
        with suppress(ValueError):
            address.change(**{name: BY_NAME[name].parse(str(selected.get(name)))})
    view = address.read(HeadsView)
    st.session_state[_HEARD] = view.selection
    if view.cell and view.cell != before.cell:
        address.change(below="query-key")


def is_stale(message: Mapping[str, Any]) -> bool:
    """Whether it was told of the view before: a link, a scene or Back has come between."""
    epoch, _ = st.session_state.get(_TOLD, (0, None))
    return message.get("epoch") != epoch or address.is_followed()


def on_switch_off() -> None:
    """Show the effects of switching heads off, together with those that were off already."""
    wanted = told("explorer", "switch_off")
    prepared: Prepared | None = st.session_state.get(_PREPARED)
    if prepared is None or not isinstance(wanted, Mapping) or is_stale(wanted):
        return
    try:
        attention = BY_NAME["attention"].parse(str(wanted.get("attention")))
        written = BY_NAME["compare"].parse(str(wanted.get("heads")))
    except ValueError:
        return
    kinds = JOINED if attention == JOINT else (AttentionKind(attention),)
    pairs = [tuple(map(int, pair.split("."))) for pair in filter(None, written.split("-"))]
    heads = [
        (Site(kind, layers[layer]), head)
        for kind in kinds
        for layers in [prepared.trace.layers(kind)]
        for layer, head in pairs
        if layer < len(layers)
    ]
    if not heads:
        return
    before = address.last(EffectsView)
    if not before.heads:
        # What was done to other heads once is not what was asked for now.
        before = replace(before, way="gate", gate=0)
    if before.colored == "maps":
        # Those show nothing of heads that are switched off.
        before = replace(before, colored="probability")
    off = dict.fromkeys([*before.heads, *heads])
    _, query = address.current()
    around = {name: text for name, text in query.items() if name not in BY_NAME}
    values = asdict(replace(before, off=written_heads(off)))
    address.navigate(EFFECTS.name, around | write(values, EFFECTS.parameters))


@fragment
def show_explorer(question: session.Question) -> None:
    """The picture, and below it what belongs to what is selected in it."""
    if address.is_navigating():
        # A fragment runs alone, and another page concerns the whole app.
        st.rerun()
    view = address.read(HeadsView)
    prepared = prepare(question, view.reading)
    epoch, told = st.session_state.get(_TOLD, (0, view.selection))
    # Told only what it does not know: it has already drawn what a person selected in it.
    if view.selection != st.session_state.get(_HEARD):
        epoch, told = epoch + 1, view.selection
        st.session_state[_HEARD] = told
        st.session_state[_TOLD] = epoch, told
    losses = read_losses(question, view)
    payload = pack(
        prepared.seen,
        prepared.facts,
        prepared.labels,
        # Without a model, no head can be switched off.
        effects=losses if question.trace is None else None,
        epoch=epoch,
        selection=told,
        stage=stage.is_on(),
        opens_cells=opens_cells(prepared.trace),
    )
    with stage.picture():
        explorer(payload, on_selection=on_selection, on_switch_off=on_switch_off)
    if not stage.is_on():
        show_below(prepared, view, losses)
    note_place(question.folder, view)
    sites, head = selected_sites(prepared, view)
    current_head.note(VIEW.name, [(site, head) for site in sites])
    address.write_address()
    shown = "/".join([content_id(payload), view.attention, str(view.layer), str(view.head)])
    # What waits for the whole page, such as a test or a measurement, waits for this.
    st.html(f'<span class="headscope-done" data-done="{html.escape(shown)}"></span>')


def opens_cells(trace: Trace) -> bool:
    """Whether what makes a weight was recorded with it."""
    return all(
        array is not None for seen in trace.maps.values() for array in (seen.q, seen.k, seen.scores)
    )


def read_losses(question: session.Question, view: HeadsView) -> Mapping[Site, FloatArray]:
    """What the translation loses without each head, for an order by it; else nothing."""
    losses: Mapping[Site, FloatArray] = {}
    if view.order == EFFECT.key and question.trace is None:
        # Without an answer, the heads stand in their usual order.
        with session.refusals():
            target = question.target or None
            losses = session.effects(question.checkpoint, question.sentence, target).of()
    return losses


def show_below(prepared: Prepared, view: HeadsView, losses: Mapping[Site, FloatArray]) -> None:
    """What belongs to what is selected in the picture."""
    sites, head = selected_sites(prepared, view)
    whole = pictures.WholeView(
        prepared.seen,
        prepared.facts,
        prepared.labels,
        prepared.question.sentence,
        view.selection,
        losses or None,
    )
    captioned(
        ":material/info: A weight says where a head looks, not why the model wrote a word; another "
        "layer or head often tells another story. [What the pictures can and cannot tell](about)",
        pictures.selected(whole, sites, head, target=prepared.question.target),
        "picture",
    )
    grown = read_training(prepared.question)
    if grown is None and view.below == TRAINING:
        address.change(below="facts")
        view = address.read(HeadsView)
    st.segmented_control(
        "Below the picture",
        [section for section in SECTIONS if section != TRAINING or grown],
        default=view.below,
        key="below",
        required=True,
        format_func=lambda section: f"{SECTION_ICONS[section]} {SECTIONS[section]}",
        label_visibility="collapsed",
    )
    match view.below:
        case "numbers":
            show_numbers(prepared, sites, head)
        case "query-key":
            show_query_key(prepared, view, head)
        case "matrices" if prepared.question.trace is not None:
            st.info(
                "Weight matrices are the model's own, and this trace holds what it did once; "
                "record the text with the model at hand to see them."
                if prepared.question.facts is None
                else "Weight matrices are shown of Headscope's own models alone; of a "
                "Hugging Face folder, what the model did with them is shown above.",
                icon=":material/info:",
            )
        case "matrices":
            model = session.translator(prepared.question.checkpoint)
            for site in sites:
                matrices = model.head_matrices(site, head)
                show_picture(WeightMatrices(matrices, site, head), f"matrices-{site}")
        case "training" if grown is not None:
            show_training(prepared.question, view, grown, sites, head)
        case _:
            show_facts(prepared, sites, head)


def selected_sites(prepared: Prepared, view: HeadsView) -> tuple[list[Site], int]:
    """The sites that the selection stands for, and the head; as near as the trace has them."""
    is_joint = view.attention == JOINT
    kinds = JOINED if is_joint else (AttentionKind(view.attention),)
    sites = []
    for kind in kinds:
        layers = prepared.trace.layers(kind)
        if layers and (not is_joint or view.layer < len(layers)):
            sites.append(Site(kind, layers[min(view.layer, len(layers) - 1)]))
    n_heads = min(prepared.seen.maps[site].n_heads for site in sites)
    return sites, min(view.head, n_heads - 1)


def one_head(prepared: Prepared, site: Site, head: int) -> pictures.OneHead:
    """One head as a picture."""
    return pictures.OneHead(prepared.seen, site, head, target=prepared.question.target)


def show_facts(prepared: Prepared, sites: list[Site], head: int) -> None:
    """The selected head's measures, and all heads' in a table."""
    one, every = st.columns([2, 5], gap="large")
    with one:
        for site in sites:
            show_head_facts(prepared, site, head)
    with every:
        kinds = {site.kind for site in sites}
        facts = {site: facts for site, facts in prepared.facts.items() if site.kind in kinds}
        show_every_head(prepared, facts)
        labelled = "; its label is from other sentences" if prepared.labels else ""
        captioned(
            f"Every head on this sentence{labelled}. Click a column's "
            "name to sort, the box of a row to see its head.",
            [pictures.HeadMeasures(prepared.seen, facts)],
            "facts",
        )


def show_every_head(prepared: Prepared, facts: pictures.Facts) -> None:
    """The measures of heads in a table."""
    named = {site: labels for site, labels in prepared.labels.items() if site in facts}
    counted = measures_of(prepared.reading)
    table = facts_table(facts, named, counted)
    if not named:
        table = table.drop(columns=["Label", "Holds in"])
    written = {
        measure.name: partial(
            style.percent if measure.unit == "share" else style.fixed, digits=digits
        )
        for measure in counted
        if measure.name in table
        for digits in [0 if measure.unit == "share" else 2]
    }
    rows = [
        (site, head) for site in sorted(facts) for head in range(prepared.seen.maps[site].n_heads)
    ]
    st.dataframe(
        # The grid itself would write a hyphen for a minus, and a minus before a zero.
        table.style.format(written, na_rep=""),
        key="every-head",
        hide_index=True,
        height=390,
        column_config=table_columns(prepared.reading),
        on_select=partial(select_row, rows),
        selection_mode="single-row",
    )


def table_columns(reading: Reading) -> dict[str, Any]:
    """How wide labels are, and what measures mean."""
    columns: dict[str, Any] = {
        "Label": st.column_config.TextColumn("Label", width=style.LABEL_COLUMN_WIDTH),
        "Holds in": st.column_config.TextColumn(
            "Holds in",
            width="medium",
            help="In how many new sentences the label holds, with the 95% interval.",
        ),
    }
    return columns | {
        measure.name: st.column_config.NumberColumn(measure.name, help=measure.meaning)
        for measure in measures_of(reading)
    }


def select_row(rows: Sequence[tuple[Site, int]]) -> None:
    """Select the head whose row was clicked; `rows` are the heads of the table."""
    clicked = st.session_state["every-head"].selection.rows
    if not clicked or clicked[0] >= len(rows):
        return
    site, head = rows[clicked[0]]
    layers = {other.layer for other, _ in rows if other.kind is site.kind}
    address.change(
        attention=str(site.kind),
        layer=sorted(layers).index(site.layer),
        head=head,
        compare="",
        cell="",
    )


def show_head_facts(prepared: Prepared, site: Site, head: int) -> None:
    """One head in words, then its measures, each of which opens to say what it means."""
    facts = prepared.facts[site]
    lines = "".join(
        f"<details><summary><span>{escape_html(measure.name)}</span> "
        f"<b>{escape_html(written(measure, float(facts[measure.key][head])))}</b></summary>"
        f"<small>{escape_html(measure.meaning)}</small></details>"
        for measure in measures_of(prepared.reading)
        if measure.key in facts and site.kind in measure.kinds
    )
    words = head_words(prepared.seen.maps[site], facts, prepared.reading)[head]
    st.html(
        f"<style>{css.FACTS_CSS}</style><h3>{site.kind.full_name}, layer {site.layer}, "
        f"head {head}</h3>{verdict(prepared, site, head)}"
        f'<p>On this sentence: {escape_html(words.sentence)}</p><div class="facts">{lines}</div>'
    )


def verdict(prepared: Prepared, site: Site, head: int) -> str:
    """What a head does over new sentences and why, as HTML; empty where nothing is known."""
    labels = prepared.labels.get(site)
    if labels is None:
        return ""
    if (label := labels[head]) is None:
        return "<p>No label: too few sentences can tell.</p>"
    mark = "strong" if label.earned else "span"
    return f"<p><{mark}>{escape_html(label.text)}</{mark}><br>{escape_html(label.reason)}</p>"


def show_numbers(prepared: Prepared, sites: list[Site], head: int) -> None:
    """Every weight of the selected head in a table."""
    for site in sites:
        seen = prepared.seen
        st.dataframe(
            weights_table(seen.maps[site], head, seen.beside.get(site.kind)),
            key=f"numbers-{site}",
            hide_index=True,
            height=420,
            column_config={
                "Weight": st.column_config.NumberColumn(format="%.6g"),
                "Score": st.column_config.NumberColumn(format="%.6g"),
            },
        )
        captioned(
            f"{site.head_name(head)}: one row for every query "
            "and key. Click a column to sort; the menu above the table searches and downloads it.",
            [one_head(prepared, site, head)],
            f"numbers-of-{site}",
        )


def show_query_key(prepared: Prepared, view: HeadsView, head: int) -> None:
    """One cell from the inside: query times key, the score, and the softmax it enters."""
    if not opens_cells(prepared.trace):
        st.info(
            "This trace lacks the queries, keys and scores that weights are made of: record them "
            "to look into a cell.",
            icon=":material/info:",
        )
        return
    found = picked_cell(prepared, view)
    if found is None:
        first = "Choose Heatmap above, then click"
        if view.view == "heatmap":
            first = "Click"
        st.info(
            f"{first} a cell of the large heatmap (or move to it with the arrow keys and press "
            "Enter) to see how its query and its key make the weight.",
            icon=":material/left_click:",
        )
        return
    site, query, key = found
    seen = prepared.seen.maps[site]
    if seen.q is None or seen.k is None:
        st.info(
            "Whole words have no query and no key of their own: switch “Whole words” off to look "
            "into a cell.",
            icon=":material/info:",
        )
        return
    picture = pictures.QueryKey(
        prepared.seen, site, head, query, key, target=prepared.question.target
    )
    try:
        show_chart(
            picture,
            "query-key-figure",
            narrow=st.session_state.get("_width", "wide") != "wide",
        )
    except ExportError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    captioned(escape_markdown(picture.caption), [picture], "query-key")


def show_chart(picture: Picture, key: str, *, narrow: bool) -> None:
    """A picture's figure."""
    st.plotly_chart(
        picture.figure(Layout(narrow=narrow, dark=is_dark())),
        width="stretch",
        # The figure brings its own fonts and colours; Streamlit's would be laid over them.
        theme=None,
        key=key,
        config=style.CHART_CONFIG,
        alt=picture.alt,
    )


def picked_cell(prepared: Prepared, view: HeadsView) -> tuple[Site, int, int] | None:
    """The site, query and key of the cell that was clicked, if there is one on this trace."""
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


def read_training(question: session.Question) -> Growth | None:
    """What heads did while the model was trained; None where it was not measured."""
    if question.trace is not None:
        return None
    try:
        return read_growth(question.folder)
    except CheckpointError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        return None


def show_training(
    question: session.Question,
    view: HeadsView,
    grown: Growth,
    sites: Sequence[Site],
    head: int,
) -> None:
    """The curves of one measure, for each selected head's kind of attention."""
    there = [key for site in sites for key in grown.measures(site.kind)]
    options = ["", *dict.fromkeys(there)]
    if view.grown not in options:
        # Another kind of attention has other measures.
        address.change(grown="")
        view = address.read(HeadsView)
    st.selectbox(
        "What the curves show",
        options,
        options.index(view.grown),
        key="grown",
        format_func=lambda key: training_curves.NAMES[key] if key else "What this head does most",
        width=420,
    )
    for site in sites:
        measure = view.grown if view.grown in grown.measures(site.kind) else ""
        if measure := measure or grown.most(site, head) or "":
            picture = training_curves.HeadGrowth(
                grown, measure, site, head, model_of(question)["checkpoint"]
            )
            narrow = st.session_state.get("_width") == "narrow"
            show_chart(picture, f"training-{site}", narrow=narrow)
            captioned(escape_markdown(picture.caption), [picture], f"training-of-{site}")


def opening_place(question: session.Question, view: HeadsView) -> tuple[int, int]:
    """The layer and head to begin with, of the kind of attention that is shown."""
    kind = AttentionKind.CROSS if view.attention == JOINT else AttentionKind(view.attention)
    prepared = prepare(question, view.reading)
    return opening_heads(prepared.seen.maps, prepared.labels)[kind]


def is_newly_chosen(folder: Path) -> bool:
    """Whether another model than the last one is shown, and no link asked for it."""
    last: Path | None = st.session_state.get(_MODEL)
    return last is not None and last != folder and not address.is_followed()


def return_to_head(folder: Path) -> None:
    """Go back to the head last seen of a model that was chosen again."""
    if is_newly_chosen(folder):
        attention = address.read(HeadsView).attention
        address.change(**st.session_state[_PLACES].get((folder, attention), {}))


def note_place(folder: Path, view: HeadsView) -> None:
    """Remember which head of which kind of attention was seen of this model."""
    places = st.session_state.setdefault(_PLACES, {})
    places[folder, view.attention] = {"layer": view.layer, "head": view.head}
    st.session_state[_MODEL] = folder


def bring_head() -> None:
    """Show the head that another page hands on, or again the one that was shown here."""
    heads = current_head.brought(VIEW.name)
    if heads is None:
        return
    if not heads:
        address.bring(layer=USUAL, head=USUAL)
        return
    site, head = heads[0]
    attention = JOINT if len(heads) > 1 else str(site.kind)
    address.bring(attention=attention, layer=site.layer, head=head)
    if f"{site.layer}.{head}" not in address.read(HeadsView).compare.split("-"):
        address.bring(compare="")


def choose_attention(question: session.Question) -> None:
    """Show a kind of attention that there is, and note it where an address asked for another."""
    view = address.read(HeadsView)
    trace = prepare(question, view.reading).trace
    there = {str(site.kind) for site in trace.maps}
    if set(map(str, JOINED)) <= there:
        there.add(JOINT)
    if view.attention in there:
        return
    usual = BY_NAME["attention"].default
    if usual not in there:
        usual = str(next(iter(trace.maps)).kind)
    address.change(attention=usual, layer=USUAL, head=USUAL)
    if address.is_followed() and "attention" in address.asked():
        address.note(
            "attention",
            f"The address asks for attention “{view.attention}”, which is not there; shown "
            f"instead: “{usual}”.",
        )


def clamp_place(question: session.Question) -> None:
    """Bring layer and head into this model's range, and note it of each that was not."""
    return_to_head(question.folder)
    choose_attention(question)
    view = address.read(HeadsView)
    trace = prepare(question, view.reading).trace
    kinds = JOINED if view.attention == JOINT else (AttentionKind(view.attention),)
    n_layers = max(len(trace.layers(kind)) for kind in kinds)
    n_heads = min(seen.n_heads for site, seen in trace.maps.items() if site.kind in kinds)
    places = (("layer", view.layer, n_layers), ("head", view.head, n_heads))
    is_file = question.trace is not None and question.facts is None
    shown = "This trace" if is_file else "This model"
    if is_newly_chosen(question.folder) and any(asked >= count for _, asked, count in places):
        # Nobody asked for that head of this model.
        places = (("layer", USUAL, n_layers), ("head", USUAL, n_heads))
    usual = None
    for place, (name, asked, count) in enumerate(places):
        if asked == USUAL:
            usual = usual or opening_place(question, view)
            address.change(**{name: usual[place]})
        elif asked >= count:
            address.change(**{name: count - 1})
            address.note(
                name,
                f"{shown} has the {name}s 0 to {count - 1} there and no {name} {asked}; shown "
                f"instead: {name} {count - 1}.",
            )
    if usual is not None and view.attention == BY_NAME["attention"].default:
        sites, head = selected_sites(prepare(question, view.reading), address.read(HeadsView))
        current_head.open_with(VIEW.name, [(site, head) for site in sites])


def offer_keys(question: session.Question) -> None:
    """Say what keys do on a stage, as far as they do something."""
    keys = ["Arrow keys: layer and head", "V: lines"]
    trace = question.trace
    if trace is None or len({site.kind for site in trace.maps}) > 1:
        keys.append("A: attention")
    if trace is None:
        keys.append("X: switch the head off")
    stage.offer(" · ".join(keys))


def show(question: session.Question) -> None:
    """Everything, for a question that has an answer."""
    bring_head()
    clamp_place(question)
    offer_keys(question)
    if "explorer" not in st.session_state:
        # Another page was shown meanwhile, and this explorer knows nothing yet.
        st.session_state.pop(_HEARD, None)
    show_explorer(question)
