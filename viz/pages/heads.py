"""Heads: every head of every layer at once, and any of them large, with its words and numbers."""

import html
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError, snapshots
from model.checkpoints.shipped import checkpoint_name
from model.explain.growth import Growth
from model.explain.labels import Label, opening_heads
from model.explain.measures import EFFECT, facts_of, written
from model.explain.reading import Reading, ReadTrace, alignment_note, measures_of, read
from model.record.head_edits import Gate
from model.record.intervention import UNCHANGED, Intervention
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head
from model.trace.trace import Trace
from viz.browser.envelope import content_id
from viz.browser.explorer import explorer
from viz.browser.headline import without
from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.corpus.view import VIEW as CORPUS
from viz.corpus.view import CorpusView
from viz.draw import css, style
from viz.draw.labels import escape_html, escape_markdown, visible
from viz.effects.price import price, price_words
from viz.heads import training_curves
from viz.heads.childhood import Childhood
from viz.heads.head_sentences import head_words
from viz.heads.matrices import WeightMatrices
from viz.heads.one_head import OneHead
from viz.heads.payload import JOINT, pack
from viz.heads.pictures_to_save import pictures_to_save
from viz.heads.query_key import QueryKey
from viz.heads.tables import facts_table, weights_table
from viz.heads.view import KEYS, SECTIONS, SELECTED, TRAINING, USUAL, VIEW, HeadsView
from viz.heads.whole_view import Facts, HeadMeasures, WholeView
from viz.links.head_refs import written_heads
from viz.save.formats import ExportError
from viz.service import session
from viz.service.jobs.examples import find_later_rows
from viz.service.jobs.removing import measure_effects
from viz.service.jobs.running import record, translate
from viz.service.model_menu import toy_task
from viz.service.questions import OfModel, OfReader, OfTrace, Question
from viz.service.versions import snapshot_of, version_of
from viz.shell import address, current_head, stage
from viz.shell.answer import show_large
from viz.shell.fragments import fragment
from viz.shell.head_picker import keep_counted
from viz.shell.headline import headline_of
from viz.shell.save_menu import captioned, show_picture
from viz.shell.widgets import hint, menu, segments

JOINED = (AttentionKind.ENCODER, AttentionKind.CROSS, AttentionKind.DECODER)
"""The kinds of attention in the joint picture, in reading order."""

SECTION_ICONS = {
    "facts": ":material/insights:",
    "numbers": ":material/table:",
    "query-key": ":material/join_inner:",
    "matrices": ":material/view_module:",
    TRAINING: ":material/timeline:",
}
BY_NAME = {parameter.name: parameter for parameter in VIEW.parameters}

Labels = Mapping[Site, tuple[Label | None, ...]]

EXPLORER = KEYS("explorer")

_KNOWN: Kept[Mapping[str, Any] | None] = Kept(KEYS("known"), nothing)
"""The selection that the explorer shows."""

_SENT: Kept[tuple[int, Mapping[str, Any] | None]] = Kept(KEYS("sent"), lambda: (0, None))
"""How many selections the explorer was sent that it did not make itself, and the last of them."""

_WIDTH: Kept[object] = Kept(KEYS("width"), lambda: "wide")
"""How wide the explorer says that it is."""

HEADS_STAY = "The pictures go on showing what every head does while all are on."


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """One trace as the page shows it, read in one way."""

    question: Question
    reading: Reading
    trace: Trace
    seen: ReadTrace
    facts: Facts
    labels: Labels

    @property
    def target(self) -> str:
        """The translation that a person typed; empty for none."""
        return self.question.target if isinstance(self.question, OfModel) else ""

    @property
    def kinds(self) -> list[AttentionKind]:
        """The kinds of attention that there are."""
        return list(dict.fromkeys(site.kind for site in self.trace.maps))


_PREPARED: Kept[Prepared | None] = Kept(KEYS("prepared"), nothing)
_MODEL: Kept[str | None] = Kept(KEYS("model"), nothing)
_PLACES: Kept[dict[tuple[str, str], dict[str, int]]] = Kept(KEYS("places"), dict)
"""The trace shown last; its model; the head shown last of each model and kind of attention."""


def prepare(question: Question, reading: Reading) -> Prepared:
    """The trace as it is read, with its facts; kept while question and reading stay the same."""
    kept = _PREPARED.value
    if kept is not None and (kept.question, kept.reading) == (question, reading):
        return kept
    labels: Labels = {}
    match question:
        case OfModel():
            trace = session.ask(question.record)
            seen = read(trace, reading)
            if seen.by_prediction:
                note = alignment_note(session.ask(find_later_rows(question.version)))
                seen = replace(seen, notes=(*seen.notes, *filter(None, [note])))
            seen, labels = with_labels(seen, question.checkpoint)
        case OfReader(folder=folder, trace=trace):
            seen = replace(read(trace, reading), folder=checkpoint_name(folder))
            seen, labels = with_labels(seen, folder)
        case OfTrace(trace=trace):
            # It has no model, and so no heads that anybody surveyed.
            seen = replace(read(trace, reading), file=question.name)
    prepared = Prepared(question, reading, trace, seen, facts_of(seen.maps), labels)
    _PREPARED.value = prepared
    return prepared


def with_labels(seen: ReadTrace, checkpoint: Path) -> tuple[ReadTrace, Labels]:
    """The labels of a model's heads, or none and a note of what is wrong with them."""
    try:
        return seen, session.labels(checkpoint)
    except CheckpointError as error:
        return replace(seen, notes=(*seen.notes, str(error))), {}


def on_selection() -> None:
    """Take over a selection from the explorer."""
    selected = message_of(EXPLORER, "selection")
    if not isinstance(selected, Mapping):
        return
    _WIDTH.value = selected.get("width")
    if is_stale(selected):
        return
    before = address.read(HeadsView)
    for name in SELECTED:
        with suppress(ValueError):
            address.change(**{name: BY_NAME[name].parse(str(selected.get(name)))})
    view = address.read(HeadsView)
    _KNOWN.value = view.selection
    if view.cell and view.cell != before.cell:
        address.change(below="query-key")


def is_stale(message: Mapping[str, Any]) -> bool:
    """Whether it is about the view before: a link, a scene or Back has come between."""
    epoch, _ = _SENT.value
    return message.get("epoch") != epoch or address.is_followed()


@fragment
def show_explorer(question: Question) -> None:
    """The picture, and below it what belongs to its selection."""
    if address.is_navigating():
        # A fragment runs alone, and another page concerns the whole app.
        st.rerun()
    view = address.read(HeadsView)
    prepared = prepare(question, view.reading)
    epoch, sent = _SENT.value
    # Sent only what it does not know: a person's selection in it is drawn already.
    if view.selection != _KNOWN.value:
        _KNOWN.value = view.selection
        _SENT.value = epoch, sent = epoch + 1, view.selection
    losses = read_losses(question, view)
    payload = pack(
        prepared.seen,
        prepared.facts,
        prepared.labels,
        # Without a model, no head can be switched off.
        effects=losses if isinstance(question, OfModel) else None,
        epoch=epoch,
        selection=sent,
        stage=stage.is_on(),
        opens_cells=opens_cells(prepared.trace),
    )
    with stage.picture():
        if stage.is_on() and view.off and isinstance(question, OfModel):
            show_large(question)
        explorer(payload, key=EXPLORER, on_selection=on_selection)
    tell_without(question, view)
    if not stage.is_on():
        show_below(prepared, view, losses)
    note_place(question.name, view)
    sites, head = selected_sites(prepared, view)
    current_head.note(VIEW.name, [Head(site, head) for site in sites])
    address.write_address()
    shown = "/".join([content_id(payload), view.attention, str(view.layer), str(view.head)])
    # Tests and measurements wait for this.
    st.html(f'<span class="headscope-done" data-done="{html.escape(shown)}"></span>')


def tell_without(question: Question, view: HeadsView) -> None:
    """Let the translation above become what the model writes without the heads switched off."""
    outcome: dict[str, Any] | None = None
    if view.off and isinstance(question, OfModel):
        outcome = {"off": written_heads(view.off)}
        with session.refusals():
            outcome |= what_comes(question, view)
    without(outcome)


def priced(question: OfModel) -> str:
    """What the price is of."""
    if question.target:
        return "The target you typed"
    return "Its usual translation" if toy_task(question.folder) is None else "Its usual output"


def what_comes(question: OfModel, view: HeadsView) -> dict[str, Any]:
    """What the model writes without the heads, and what they cost, as the browser takes it."""
    under = Intervention(heads=dict.fromkeys(view.off, Gate(0)))
    before, after = (session.run(question, each) for each in (UNCHANGED, under))
    usual, left = before.forced.log_probs, after.forced.log_probs
    assert usual is not None, "every trace of a translator holds them"
    assert left is not None, "every trace of a translator holds them"
    more = [price_words(before.forced.predictions, usual, left), HEADS_STAY]
    free = after.free
    words = headline_of(free.text, free.predictions, free.log_probs)
    if question.target:
        more.insert(0, f"By itself, the model now writes “{visible(free.text)}”")
    elif free.text != before.free.text:
        more.insert(0, f"With all heads: “{visible(before.free.text)}”")
    return {
        "words": None if question.target else words.entries,
        "price": f"{priced(question)}: {price(usual, left)}.",
        "more": more,
    }


def opens_cells(trace: Trace) -> bool:
    """Whether queries, keys and scores were recorded."""
    return all(
        array is not None for seen in trace.maps.values() for array in (seen.q, seen.k, seen.scores)
    )


def read_losses(question: Question, view: HeadsView) -> Mapping[Site, FloatArray]:
    """What the translation loses without each head, if heads are ordered by it; else nothing."""
    losses: Mapping[Site, FloatArray] = {}
    if view.order == EFFECT.key and isinstance(question, OfModel):
        # Without an answer, the heads stand in their usual order.
        with session.refusals():
            losses = session.ask(measure_effects(question.record)).of()
    return losses


def show_below(prepared: Prepared, view: HeadsView, losses: Mapping[Site, FloatArray]) -> None:
    """What belongs to the selection in the picture."""
    sites, head = selected_sites(prepared, view)
    whole = WholeView(
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
    grown = read_training(question)
    if grown is None and view.below == TRAINING:
        address.change(below="facts")
        view = address.read(HeadsView)
    sections = {
        section: f"{SECTION_ICONS[section]} {name}"
        for section, name in SECTIONS.items()
        if section != TRAINING or grown
    }
    segments("Below the picture", sections, key=KEYS("below"))
    match view.below:
        case "numbers":
            show_numbers(prepared, sites, head)
        case "query-key":
            show_query_key(prepared, view, head)
        case "matrices":
            show_matrices(question, sites, head)
        case "training" if grown is not None and isinstance(question, OfModel):
            show_training(question, view, grown, sites, head)
        case _:
            show_facts(prepared, sites, head)


def show_matrices(question: Question, sites: Sequence[Site], head: int) -> None:
    """The weight matrices of the selected heads."""
    match question:
        case OfModel():
            model = session.translator(question.checkpoint)
            for site in sites:
                matrices = model.head_matrices(site, head)
                show_picture(WeightMatrices(matrices, site, head), KEYS("matrices", site))
        case OfReader():
            hint("Weight matrices are shown only for Headscope's own models.")
        case OfTrace():
            hint("A trace holds no weight matrices; open its model to see them.")


def selected_sites(prepared: Prepared, view: HeadsView) -> tuple[list[Site], int]:
    """The selected sites and head, or the nearest that the trace has."""
    is_joint = view.attention == JOINT
    kinds = JOINED if is_joint else (AttentionKind(view.attention),)
    sites = []
    for kind in kinds:
        layers = prepared.trace.layers(kind)
        if layers and (not is_joint or view.layer < len(layers)):
            sites.append(Site(kind, layers[min(view.layer, len(layers) - 1)]))
    n_heads = min(prepared.seen.maps[site].n_heads for site in sites)
    return sites, min(view.head, n_heads - 1)


def childhood(prepared: Prepared, site: Site, head: int) -> list[Childhood]:
    """The selected head, and every head beside it, through the training; none without snapshots."""
    question = prepared.question
    if not isinstance(question, OfModel):
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


def show_facts(prepared: Prepared, sites: list[Site], head: int) -> None:
    """The selected head's measures, and all heads' in a table."""
    one, every = st.columns([2, 5], gap="large")
    with one:
        for site in sites:
            show_head_facts(prepared, site, head)
        lead_to_corpus(prepared.question, sites[0], head)
    with every:
        kinds = {site.kind for site in sites}
        facts = {site: facts for site, facts in prepared.facts.items() if site.kind in kinds}
        show_every_head(prepared, facts)
        labelled = "; labels come from other sentences" if prepared.labels else ""
        captioned(
            f"Every head on this sentence{labelled}. Click a column's name to sort, a row's box to "
            "see its head.",
            [HeadMeasures(prepared.seen, facts)],
            KEYS("facts"),
        )


def show_every_head(prepared: Prepared, facts: Facts) -> None:
    """A table of the heads' measures."""
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
        Head(site, head)
        for site in sorted(facts)
        for head in range(prepared.seen.maps[site].n_heads)
    ]
    st.dataframe(
        # The grid itself would write a hyphen for a minus sign, and −0.
        table.style.format(written, na_rep=""),
        key=KEYS("every-head"),
        hide_index=True,
        height=390,
        column_config=table_columns(prepared.reading),
        on_select=partial(select_row, rows),
        selection_mode="single-row",
    )


def table_columns(reading: Reading) -> dict[str, Any]:
    """The widths of the columns, and what the measures mean."""
    columns: dict[str, Any] = {
        "Label": st.column_config.TextColumn("Label", width=style.LABEL_COLUMN_WIDTH),
        "Holds in": st.column_config.TextColumn(
            "Holds in",
            width=260,
            help="The share of new sentences in which the label holds, with its 95% interval.",
        ),
    }
    return columns | {
        measure.name: st.column_config.NumberColumn(measure.name, help=measure.meaning)
        for measure in measures_of(reading)
    }


def select_row(rows: Sequence[Head]) -> None:
    """Select the head whose row was clicked; `rows` are the heads of the table."""
    clicked = st.session_state[KEYS("every-head")].selection.rows
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
    """One head in words, and its measures, each of which opens to show what it means."""
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


def lead_to_corpus(question: Question, site: Site, head: int) -> None:
    """The way to what a head does over many sentences, for a model that was surveyed."""
    if not isinstance(question, OfModel):
        return
    with suppress(CheckpointError):
        if session.corpus_survey(question.checkpoint):
            st.button(
                "This head over thousands of sentences",
                key=KEYS("to-corpus"),
                icon=CORPUS.icon,
                on_click=address.open_view,
                args=(CORPUS, CorpusView(over="head", one=(Head(site, head),))),
            )


def verdict(prepared: Prepared, site: Site, head: int) -> str:
    """A head's label and its evidence, as HTML; empty for a model without labels."""
    labels = prepared.labels.get(site)
    if labels is None:
        return ""
    if (label := labels[head]) is None:
        return "<p>No label: too few sentences to tell.</p>"
    mark = "strong" if label.earned else "span"
    return f"<p><{mark}>{escape_html(label.text)}</{mark}><br>{escape_html(label.reason)}</p>"


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
            f"{first} a cell of the large heatmap, or move to it with the arrow keys and press "
            "Enter, to see how query and key produce its weight.",
            icon=":material/left_click:",
        )
        return
    site, query, key = found
    seen = prepared.seen.maps[site]
    if seen.q is None or seen.k is None:
        hint("A whole word has no query and key of its own; switch “Whole words” off.")
        return
    picture = QueryKey(prepared.seen, site, head, query, key, target=prepared.target)
    narrow = _WIDTH.value != "wide"
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
    if not isinstance(question, OfModel):
        return None
    try:
        return session.growth(question.checkpoint)
    except CheckpointError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        return None


def show_training(
    question: OfModel, view: HeadsView, grown: Growth, sites: Sequence[Site], head: int
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
            narrow = _WIDTH.value == "narrow"
            show_picture(picture, KEYS("training-of", site), narrow=narrow)


def opening_place(prepared: Prepared, view: HeadsView) -> tuple[int, int]:
    """The layer and head that open, of the kind of attention that is shown."""
    kind = AttentionKind.CROSS if view.attention == JOINT else AttentionKind(view.attention)
    return opening_heads(prepared.seen.maps, prepared.labels)[kind]


def is_newly_chosen(model: str) -> bool:
    """Whether another model than the last one is shown, and no link asked for it."""
    last = _MODEL.value
    return last is not None and last != model and not address.is_followed()


def return_to_head(model: str) -> None:
    """Go back to the head last shown of a model that was chosen again."""
    if is_newly_chosen(model):
        attention = address.read(HeadsView).attention
        address.change(**_PLACES.value.get((model, attention), {}))


def note_place(model: str, view: HeadsView) -> None:
    """Remember which head of which kind of attention was shown of this model."""
    _PLACES.value[model, view.attention] = {"layer": view.layer, "head": view.head}
    _MODEL.value = model


def bring_head() -> None:
    """Show the head of the page before, or again the one that was shown here."""
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


def choose_attention(prepared: Prepared) -> None:
    """Show a kind of attention that there is, and note it where an address asked for another."""
    view = address.read(HeadsView)
    there = [str(kind) for kind in prepared.kinds]
    if set(JOINED) <= set(prepared.kinds):
        there.append(JOINT)
    if view.attention in there:
        return
    usual = BY_NAME["attention"].default
    if usual not in there:
        usual = there[0]
    address.change(attention=usual, layer=USUAL, head=USUAL)
    if address.is_followed() and "attention" in address.query():
        address.note(
            "attention",
            f"There is no attention “{view.attention}” here; shown instead: “{usual}”.",
        )


def clamp_place(prepared: Prepared) -> None:
    """Bring layer and head into this model's range, and note what had to change."""
    trace, model = prepared.trace, prepared.question.name
    return_to_head(model)
    choose_attention(prepared)
    view = address.read(HeadsView)
    kinds = JOINED if view.attention == JOINT else (AttentionKind(view.attention),)
    n_layers = max(len(trace.layers(kind)) for kind in kinds)
    n_heads = min(seen.n_heads for site, seen in trace.maps.items() if site.kind in kinds)
    places = (("layer", view.layer, n_layers), ("head", view.head, n_heads))
    shown = "This trace" if isinstance(prepared.question, OfTrace) else "This model"
    if is_newly_chosen(model) and any(asked >= count for _, asked, count in places):
        # Nobody asked for that head of this model.
        places = (("layer", USUAL, n_layers), ("head", USUAL, n_heads))
    usual = None
    for place, (name, asked, count) in enumerate(places):
        if asked == USUAL:
            usual = usual or opening_place(prepared, view)
            address.change(**{name: usual[place]})
        elif asked >= count:
            address.change(**{name: count - 1})
            address.note(
                name,
                f"{shown} has {name}s 0 to {count - 1}, but no {name} {asked}; shown instead: "
                f"{name} {count - 1}.",
            )
    if usual is not None and view.attention == BY_NAME["attention"].default:
        sites, head = selected_sites(prepared, address.read(HeadsView))
        current_head.open_with(VIEW.name, [Head(site, head) for site in sites])


def clamp_off(prepared: Prepared) -> None:
    """Keep those heads off that this model has, or none where it cannot be run without a head."""
    view = address.read(HeadsView)
    if isinstance(prepared.question, OfModel):
        counts = {site: seen.n_heads for site, seen in prepared.trace.maps.items()}
        keep_counted("off", view.off, counts, "the others stay switched off.")
    elif view.off:
        address.change(off=())


def offer_keys(prepared: Prepared) -> None:
    """Offer the keys that do something on a stage."""
    keys = ["Arrow keys: layer and head", "V: lines"]
    if len(prepared.kinds) > 1:
        keys.append("A: attention")
    if isinstance(prepared.question, OfModel):
        keys.append("X: switch the head off")
    stage.offer(" · ".join(keys))


def show(question: Question) -> None:
    """Everything, for a question that has an answer."""
    bring_head()
    prepared = prepare(question, address.read(HeadsView).reading)
    clamp_place(prepared)
    clamp_off(prepared)
    offer_keys(prepared)
    if EXPLORER not in st.session_state:
        # Another page was shown meanwhile, and this explorer knows nothing yet.
        _KNOWN.value = None
    show_explorer(question)
