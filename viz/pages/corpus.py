"""Over the corpus: what each head does over many sentences, and how well a rule says it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from model.explain.alignment_file import read_alignment
from model.explain.labels import RULE
from model.explain.measures import EFFECT, facts_of
from model.record.weight_rules import RULES
from model.survey.corpus_survey import CorpusSurvey, Place
from model.survey.nearest import Nearest, nearest
from model.survey.sentence_index import FOUND_BY, SentenceIndex
from model.survey.survey_file import SURVEY
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray
from model.trace.trace import Trace
from viz.browser.clicks import clicks, handle_clicks
from viz.browser.matrices import edited, epoch_of, keep_painted, matrices
from viz.corpus.all_heads import AllHeads
from viz.corpus.drawn import drawing_panel, drawn_sentence, matches, rule_drawn
from viz.corpus.quantities import QUANTITIES, known, ranked, value_of, written
from viz.corpus.rule_curve import SCORES, RulesCurve
from viz.corpus.rule_map import RuleBesideHead
from viz.corpus.sentences import (
    alignment_sentence,
    all_sentence,
    came_sentence,
    does,
    effect_sentence,
    found_sentence,
    no_survey,
    rule_sentence,
    rules_sentence,
    sample_sentence,
)
from viz.corpus.small_map import small_map
from viz.corpus.spread import HeadSpread, LookDistances
from viz.corpus.view import SHOWN, VIEW, CorpusView
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.draw.word_diff import translations_html
from viz.effects.price import price_words
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.links.head_refs import KINDS, head_name
from viz.links.mask_edits import decode, encode
from viz.registry.pages import ASKED
from viz.service import session
from viz.service.jobs import FollowRules, Record
from viz.service.model_menu import checkpoints
from viz.service.questions import OfModel
from viz.shell import address, current_head, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, menu, row, segments
from viz.shell.width import is_narrow, watch_width

TOP = 10
"""Heads in the list."""

T = TypeVar("T")

TENTHS = (9, 8, 6, 4, 2, 0)
"""Tenths of the sentences of which one is shown, by a measure of the head."""

ALIKE = 3
"""The nearest heads that are named of each model."""

FOUND = 6
"""Sentences that are shown of those found."""

CHART, GRID = "corpus-heads", "corpus-grid"

ONE_PARAMETER = VIEW.parameter("one")


def surveyed(question: OfModel) -> CorpusSurvey | None:
    """The model's survey; None, with the reason shown, without one."""
    try:
        survey = session.corpus_survey(question.checkpoint)
    except CheckpointError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    if survey is None:
        is_snapshot = (question.folder / SURVEY).exists()
        hint(escape_markdown(no_survey(question.model_name, is_snapshot=is_snapshot)))
    return survey


def open_head(place: Place) -> None:
    """Show one head of the model."""
    address.change(over="head", one=(place,))


def open_clicked(*clicked: Any) -> None:
    """Show the head of a clicked point; `clicked` comes from a browser."""
    try:
        (one,) = ONE_PARAMETER.parse(str(clicked[0]))
    except (IndexError, ValueError):
        return
    open_head(one)


# ---- every head ---------------------------------------------------------------------------------


def show_all(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """Every head as a point, and the top of them in a list."""
    names = known(survey)
    for name in ("across", "up"):
        if getattr(view, name) not in names:
            address.change(**{name: next(iter(names))})
            view = address.read(CorpusView)
    with row(at="bottom"):
        menu("Across", names, key="across", width=300)
        menu("Up", names, key="up", width=300)
    if not st.session_state[ASKED.name]:
        # Else the answer above the page says it.
        st.markdown(escape_markdown(all_sentence(survey, view.across, view.up)))
    picture = AllHeads(survey, question.model_name, view.across, view.up)
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_picture(
            picture, CHART, after=" Click one to see all about it.", further=sample_sentence(survey)
        )
        clicks(CHART, on_clicks=partial(handle_clicks, CHART, open_clicked))
    with right:
        segments(
            "Ranked by",
            {name: QUANTITIES[getattr(view, name)].name for name in ("across", "up")},
            key="top",
        )
        show_top(survey, view)


def show_top(survey: CorpusSurvey, view: CorpusView) -> None:
    """The heads with the largest values; a click on a row shows its head."""
    by = view.across if view.top == "across" else view.up
    first = [place for place, _ in ranked(survey, by)][:TOP]
    columns = dict.fromkeys([by, view.across, view.up, EFFECT.key])
    table = pd.DataFrame(
        {
            "Head": [head_name(*place) for place in first],
            **{
                QUANTITIES[key].name: [
                    "" if (value := value_of(survey, place, key)) != value else written(key, value)
                    for place in first
                ]
                for key in columns
            },
            "Label": [
                RULE[label].text if (label := survey.of(place).label) else "" for place in first
            ],
        }
    )
    st.dataframe(
        table,
        key=f"corpus-top-{by}",
        hide_index=True,
        on_select=partial(select_row, f"corpus-top-{by}", first),
        selection_mode="single-row",
    )
    st.caption(f"The top {len(first)}. Click a row’s box to see all about that head.")


def select_row(key: str, places: list[Place]) -> None:
    """Show the head whose row was clicked."""
    rows = st.session_state[key].selection.rows
    if rows and rows[0] < len(places):
        open_head(places[rows[0]])


# ---- one head -----------------------------------------------------------------------------------


def place_of(survey: CorpusSurvey, view: CorpusView) -> Place:
    """The head that is shown: the one asked for, or the one with the largest effect."""
    usual = next(iter(ranked(survey, EFFECT.key)), (survey.places[0], 0.0))[0]
    if not view.one:
        return usual
    place = view.one[0]
    if place in survey.places:
        return place
    address.note(
        "one",
        f"This model has no {place[0].kind} head {place[0].layer}.{place[1]}; shown instead: "
        f"{usual[0].head_name(usual[1])}.",
    )
    return usual


def choose_head(survey: CorpusSurvey, place: Place) -> None:
    """A menu of all heads."""
    names = {each: head_name(*each) for each in survey.places}
    key = "corpus-place"
    st.session_state[key] = place
    st.selectbox(
        "Head",
        list(names),
        list(names).index(place),
        key=key,
        format_func=names.__getitem__,
        width=200,
        on_change=lambda: address.change(one=(st.session_state[key],)),
    )


def show_head(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """All about one head."""
    place = place_of(survey, view)
    site, head = place
    current_head.note(VIEW.name, [place])
    with row(at="bottom"):
        choose_head(survey, place)
        st.button(
            "See it on the sentence above",
            icon=HEADS.icon,
            key="corpus-to-heads",
            on_click=address.open_view,
            args=(HEADS, HeadsView(attention=str(site.kind), layer=site.layer, head=head)),
        )
    st.markdown(f"#### {escape_markdown(does(survey, place))}")
    further = (
        effect_sentence(survey, place),
        came(question, survey, place),
        aligned(question, place),
    )
    st.markdown(escape_markdown(" ".join(filter(None, further))))
    left, right = st.columns([3, 2], gap="large")
    with left:
        spread = HeadSpread(survey, question.model_name, site, head)
        show_picture(spread, "corpus-spread", further=sample_sentence(survey))
    with right:
        show_picture(LookDistances(survey, question.model_name, site, head), "corpus-distances")
        show_pairs(survey, place)
    show_sentences(question, survey, place)
    if survey.rules is not None:
        st.subheader("Said as a rule", anchor=False)
        st.markdown(escape_markdown(rule_sentence(survey.rules.heads[place])))
        trace = session.ask(question.record)
        picture = RuleBesideHead(
            trace.maps[site], head, survey.rules.heads[place], question.sentence
        )
        show_picture(picture, "corpus-rule")
        st.toggle(
            "Translate with the rule in its place",
            view.follows,
            key="follows",
        )
        if view.follows:
            show_with_rules(question, (place,))
    show_nearest(question, survey, place)


def came(question: OfModel, survey: CorpusSurvey, place: Place) -> str | None:
    """When a head came, in the childhood of a model that has one."""
    with suppress(CheckpointError):
        growth = session.growth(question.checkpoint)
        return None if growth is None else came_sentence(growth, place, survey.of(place).label)
    return None


def aligned(question: OfModel, place: Place) -> str | None:
    """How well a head links words, where that was measured."""
    table = read_alignment(question.folder)
    return None if table is None else alignment_sentence(table, place)


def show_pairs(survey: CorpusSurvey, place: Place) -> None:
    """The word pairs that tell most of a head."""
    pairs = survey.of(place).pairs
    if not pairs:
        return
    st.dataframe(
        pd.DataFrame(
            {
                "Word": [pair.query for pair in pairs],
                "Looks at": [pair.key for pair in pairs],
                "When both occur": [style.percent(pair.share) for pair in pairs],
                "Sentences": [pair.met for pair in pairs],
            }
        ),
        key="corpus-pairs",
        hide_index=True,
        height=212,
    )
    st.caption("Pairs of words for which it looks from one to the other more than usual.")


def main_measure(survey: CorpusSurvey, place: Place) -> str | None:
    """The measure that says most of a head: its label's, or its largest share."""
    profile = survey.of(place)
    if profile.label in profile.measures:
        return profile.label
    return HeadSpread(survey, "", *place).keys[0] if profile.measures else None


def show_sentences(question: OfModel, survey: CorpusSurvey, place: Place) -> None:
    """Sentences from those where a measure is largest to those where it is smallest."""
    measure = main_measure(survey, place)
    if measure is None:
        return
    spread = survey.of(place).measures[measure]
    name = QUANTITIES[measure].name
    st.subheader(
        f"From its strongest sentences to its weakest, by {name[0].lower()}{name[1:]}", anchor=False
    )
    chosen = [(tenth, spread.examples[tenth][0]) for tenth in TENTHS if spread.examples[tenth]]
    in_columns(chosen, lambda each: show_sentence(question, survey, place, measure, *each))


def in_columns(items: Sequence[T], show: Callable[[T], None]) -> None:
    """Items three abreast; on a phone, one below another."""
    per_row = 1 if is_narrow() else 3
    for start in range(0, len(items), per_row):
        for column, item in zip(
            st.columns(per_row, gap="medium"), items[start : start + per_row], strict=False
        ):
            with column:
                show(item)


def show_sentence(
    question: OfModel, survey: CorpusSurvey, place: Place, measure: str, tenth: int, number: int
) -> None:
    """One sentence as a small map, which opens on the heads page."""
    site, head = place
    source, text = survey.shown[number]
    trace = session.ask(Record(question.version, source, text))
    value = facts_of({site: trace.maps[site]})[site].get(measure)
    told = "" if value is None else f" · {written(measure, float(value[head]))}"
    st.caption(f"{tenth_name(tenth)}{told}")
    show_map(trace, place, f"corpus-sentence-{tenth}")


def show_map(trace: Trace, place: Place, key: str) -> None:
    """A head's small map of a sentence, which opens on the heads page."""
    site, head = place
    st.html(small_map(trace.maps[site], head, dark=is_dark()))
    st.button(
        escape_markdown(trace.source_text),
        key=key,
        icon=":material/open_in_full:",
        type="tertiary",
        width="stretch",
        help="Open it on the heads page.",
        on_click=address.open_view,
        args=(HEADS, HeadsView(attention=str(site.kind), layer=site.layer, head=head)),
        kwargs={"sentence": trace.source_text, "target": "", ASKED.name: ""},
    )


def tenth_name(tenth: int) -> str:
    """Which tenth of the sentences, in words."""
    if tenth == 9:
        return "Strongest tenth"
    return "Weakest tenth" if tenth == 0 else f"Tenth {10 - tenth} of 10"


def show_nearest(question: OfModel, survey: CorpusSurvey, place: Place) -> None:
    """The heads that behave most alike, here and in other models."""
    site, head = place
    if site not in survey.probes:
        return
    st.subheader("The same head elsewhere", anchor=False)
    own = survey.probes[site][head]
    for name, folder, other in comparable(question, survey):
        found = nearest(own, other.probes, site.kind, most=ALIKE + 1)
        if folder == question.folder:
            found = [each for each in found if (each.site, each.head) != place]
        with row():
            st.markdown(
                f"**{escape_markdown('this model' if folder == question.folder else name)}**",
                width=150,
            )
            for each in found[:ALIKE]:
                show_match(question, name, folder, each)
    st.caption(
        "By all measures on 24 sentences that every survey shares. The number is the mean "
        "difference of a measure; in brackets, the same against the other head on another sentence."
    )


def comparable(question: OfModel, survey: CorpusSurvey) -> list[tuple[str, Path, CorpusSurvey]]:
    """This model, then others that read the same language and have a survey."""
    models: list[tuple[str, Path, CorpusSurvey]] = [(question.name, question.folder, survey)]
    for name, folder in checkpoints().items():
        if folder == question.folder:
            continue
        try:
            other = session.corpus_survey(folder)
        except CheckpointError:
            continue
        if other is not None and other.is_german == survey.is_german:
            models.append((name, folder, other))
    return models


def show_match(question: OfModel, name: str, folder: Path, match: Nearest) -> None:
    """A button that shows a head like this one."""
    text = (
        f"{head_name(match.site, match.head)} · {style.fixed(match.difference, 2)} "
        f"({style.fixed(match.by_chance, 2)})"
    )
    shared = {ASKED.name: ""} | ({} if folder == question.folder else {"checkpoint": name})
    st.button(
        text,
        key=f"corpus-near-{name}-{match.site}-{match.head}",
        on_click=address.open_view,
        args=(VIEW, CorpusView(over="head", one=((match.site, match.head),))),
        kwargs=shared,
    )


# ---- find a sentence ----------------------------------------------------------------------------


def indexed(question: OfModel) -> SentenceIndex | None:
    """The sentences of the survey; None, with the reason shown, without any."""
    try:
        index = session.sentence_index(question.checkpoint)
    except CheckpointError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    if index is None:
        hint("This survey was written without its sentences; headscope survey writes it anew.")
    return index


def show_search(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """Sentences with some words, in which a head looks somewhere."""
    index = indexed(question)
    if index is None:
        return
    place = place_of(survey, view)
    kind = place[0].kind
    if view.does not in ("", *FOUND_BY[kind]):
        address.change(does="")
        view = address.read(CorpusView)
    with row(at="bottom"):
        st.text_input(
            "Words",
            view.words,
            key="words",
            max_chars=200,
            width=260,
            placeholder="such as: work* two",
            help="Sentences need all of them. work* stands for work, works and worker.",
        )
        choose_head(survey, place)
        menu(
            "Looks",
            {"": "anywhere", **{name: RULES[name].text for name in FOUND_BY[kind]}},
            key="does",
            width=300,
        )
    found = index.found(view.words, place, view.does or None)
    said = found_sentence(index, found, view.words, place, view.does)
    st.markdown(f"#### {escape_markdown(said)}")
    if view.words.strip() or view.does:
        show_found(question, index, place, [number for number, _ in found[:FOUND]], "corpus-found")
        if len(found) > FOUND:
            st.caption(
                f"The first {FOUND}, those where it looks there most, and short ones, first."
            )


def show_found(
    question: OfModel, index: SentenceIndex, place: Place, numbers: list[int], key: str
) -> None:
    """Sentences as small maps of a head."""

    def show_one(number: int) -> None:
        trace = session.ask(Record(question.version, index.sources[number]))
        show_map(trace, place, f"{key}-{number}")

    in_columns(numbers, show_one)


# ---- draw a pattern -----------------------------------------------------------------------------


def drawn_on(shape: tuple[int, int], view: CorpusView) -> BoolArray:
    """What is drawn; nothing for another sentence."""
    try:
        return decode(view.drawn, shape)
    except ValueError:
        return np.zeros(shape, dtype=np.bool_)


def on_draw(name: str, shape: tuple[int, int]) -> None:
    """Take over a stroke."""
    left = edited(GRID, name, shape)
    if left is not None:
        pattern = encode(~left) if not left.all() else ""
        keep_painted(GRID, pattern)
        address.change(drawn=pattern)


def show_drawing(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """A grid to draw on, and the heads that look there."""
    trace = session.ask(question.record)
    segments("Attention", {str(kind): kind.full_name for kind in KINDS}, key="drawn_in")
    kind = AttentionKind(view.drawn_in)
    attention = next(each for site, each in trace.maps.items() if site.kind is kind)
    shape = len(attention.queries), len(attention.keys)
    drawn = drawn_on(shape, view)
    name = f"{kind}/{question.sentence}"
    found = matches(trace.maps, drawn, kind)
    st.markdown(f"#### {escape_markdown(drawn_sentence(found))}")
    left, right = st.columns([1, 1], gap="large")
    with left:
        matrices(
            [drawing_panel(attention, drawn)],
            key=GRID,
            height=20,
            epoch=epoch_of(GRID, view.drawn if drawn.any() else ""),
            name=name,
            on_edit=partial(on_draw, name, shape),
        )
    with right:
        for column, match in zip(st.columns(2), found[:2], strict=False):
            place = match.site, match.head
            with column:
                st.caption(f"{style.percent(match.share)} of its weight there")
                st.html(small_map(trace.maps[match.site], match.head, dark=is_dark()))
                st.button(
                    head_name(*place),
                    key=f"corpus-drawn-{match.site}-{match.head}",
                    help=does(survey, place),
                    on_click=open_head,
                    args=(place,),
                )
    if found and found[0].is_one:
        show_like(question, attention, drawn, (found[0].site, found[0].head))


def show_like(question: OfModel, attention: AttentionMap, drawn: BoolArray, place: Place) -> None:
    """Other sentences in which a head does what was drawn, where a rule says what that is."""
    index = session.sentence_index(question.checkpoint)
    rule = rule_drawn(attention, drawn)
    if index is None or rule is None:
        return
    numbers = [number for number, _ in index.found("", place, rule)[:ALIKE]]
    if numbers:
        st.subheader(
            f"Sentences in which {head_name(*place)} looks {RULES[rule].text}", anchor=False
        )
        show_found(question, index, place, numbers, "corpus-like")


# ---- rules --------------------------------------------------------------------------------------


def show_rules(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """How many heads can be rules, and the sentence above with some of them in place."""
    rules = survey.rules
    if rules is None:
        hint("This survey has no rules: it was made with --rules 0, or of too few sentences.")
        return
    st.markdown(f"#### {escape_markdown(rules_sentence(survey))}")
    for column, score in zip(st.columns(2, gap="large"), SCORES, strict=True):
        with column:
            show_picture(
                RulesCurve(survey, question.model_name, score), f"corpus-curve-{score}", columns=2
            )
    st.subheader("This sentence with rules in place", anchor=False)
    if view.ruled > len(rules.heads):
        address.change(ruled=len(rules.heads))
        view = address.read(CorpusView)
    st.slider(
        "Heads that follow their rule, cheapest first",
        0,
        len(rules.heads),
        view.ruled,
        key="ruled",
        width=420,
    )
    if not view.ruled:
        hint("Move the slider: the model then translates with rules in place of so many heads.")
        return
    show_with_rules(question, tuple(rules.order[: view.ruled]))


def show_with_rules(question: OfModel, heads: tuple[Place, ...]) -> None:
    """The sentence translated with rules in place of some heads."""
    trace = session.ask(question.record)
    outcome = session.ask(FollowRules(question.record, heads))
    names = ("With its heads", "With the rule" if len(heads) == 1 else "With rules")
    own = session.ask(question.translate).translation.text
    st.html(translations_html(own, outcome.free.text, names, dark=is_dark()))
    assert trace.log_probs is not None, "every trace of a translator holds them"
    assert outcome.forced.log_probs is not None, "every trace of a translator holds them"
    st.markdown(
        escape_markdown(price_words(trace.predictions, trace.log_probs, outcome.forced.log_probs))
    )


# ---- the page -----------------------------------------------------------------------------------


def show_on_stage(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """One picture."""
    folder = question.model_name
    with stage.picture():
        match view.over:
            case "head":
                site, head = place_of(survey, view)
                stage.say(does(survey, (site, head)))
                stage.show(
                    (HeadSpread(survey, folder, site, head), "corpus-spread"), narrow=is_narrow()
                )
            case "rules" if survey.rules is not None:
                stage.say(rules_sentence(survey))
                stage.show((RulesCurve(survey, folder, "bleu"), "corpus-curve"), narrow=is_narrow())
            case _:
                stage.say(all_sentence(survey, view.across, view.up))
                stage.show(
                    (AllHeads(survey, folder, view.across, view.up), CHART), narrow=is_narrow()
                )


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    survey = surveyed(question)
    if survey is not None:
        if stage.is_on():
            show_on_stage(question, survey, address.read(CorpusView))
        else:
            segments("View", SHOWN, key="over")
            view = address.read(CorpusView)
            match view.over:
                case "head":
                    show_head(question, survey, view)
                case "find":
                    show_search(question, survey, view)
                case "draw":
                    show_drawing(question, survey, view)
                case "rules":
                    show_rules(question, survey, view)
                case _:
                    show_all(question, survey, view)
    watch_width(3)
