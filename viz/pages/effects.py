"""Effects: what each head does for the translation, and the translation without some heads."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from model.checkpoints.checkpoint import CheckpointError, snapshots
from model.contrast.results import Contrast
from model.explain.ablation_results import Effects
from model.explain.removal_file import read_removal
from model.trace.attention_map import AttentionKind, Site, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.browser.clicks import handle_clicks
from viz.browser.switches import switches
from viz.draw import style
from viz.draw.labels import axis_texts, escape_markdown, lower_first
from viz.draw.word_diff import translations_html, typed_in
from viz.effects.contrast_map import ContrastMap, contrast_sentences, replaced_sentence
from viz.effects.contrasted import moved, standing
from viz.effects.effect_map import EffectMap, WordMap, change_words, effect_sentences
from viz.effects.head_map import cross_colors
from viz.effects.price import price, price_words
from viz.effects.removal_curve import MEASURES, NO_CURVES, ExamplesCurve, RemovalCurve
from viz.effects.self_maps import PLAIN
from viz.effects.view import AGAINST, CURVES, EVERY, KEYS, MAPS, SENTENCE, VIEW, WAYS, EffectsView
from viz.links.head_refs import ALL_HEADS, MOST_HEADS
from viz.pages.effects_contrast import (
    WHY_NOT,
    ask_why_not,
    change_token,
    choose_other,
    contrast_of,
    open_pair,
    picture_of,
    show_standing,
    show_view,
)
from viz.pages.effects_maps import (
    parts_of,
    show_alignment,
    show_alignment_on_stage,
    show_maps,
    show_maps_on_stage,
)
from viz.service import session
from viz.service.jobs.examples import average_heads
from viz.service.jobs.removing import measure_effects, remove_heads, write_without
from viz.service.questions import OfModel
from viz.service.results import Outcome
from viz.shell import address, stage
from viz.shell.head_picker import choose_heads, keep_known
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import brief, hint, menu, options, row, segments
from viz.shell.width import is_narrow, watch_width

WHOLE = "The whole translation"

CLICK = " Click a head to switch it off, and once more to switch it on."

NO_MEANS = (
    "Replacing a head by its mean needs the model’s examples, and this model has none. Choose "
    "another way to switch heads off below."
)

ONLY_TRAINED = "Only the fully trained model has these curves; choose its last training step."

ADDED = 4
"""How many more heads the button switches off: those with the largest effects."""

OFF_PARAMETER = VIEW.parameter("off")

OFF = KEYS("heads-off")
"""The key of the field of heads; the address has them as one text."""


def clamp_view(model: Translator, predictions: Tokens) -> EffectsView:
    """The view, brought to the target tokens and heads that there are."""
    view = address.read(EffectsView)
    if view.token > len(predictions):
        address.change(token=0)
    parts = parts_of(model, view.kind)
    if view.layer_head not in parts:
        first = next(iter(parts))
        if view.layer_head:
            kind, instead = view.kind.full_name.lower(), parts[first]
            address.note(
                "layer_head",
                f"This model has no {kind} {view.layer_head}; shown: {lower_first(instead)}.",
            )
        address.change(layer_head=first)
    if view.kind is not AttentionKind.CROSS and view.method == EVERY:
        # Nothing ranks its methods, as the page says.
        address.change(method=PLAIN)
    keep_known("off", view.off, model, "the others stay switched off.")
    return address.read(EffectsView)


def token_names(predictions: Tokens) -> list[str]:
    """The choices for the map: everything, or one target token, with its place if it repeats."""
    texts = axis_texts(predictions)
    return [
        WHOLE,
        *(
            f"{text} ({place})" if texts.count(text) > 1 else text
            for place, text in enumerate(texts)
        ),
    ]


def show_choice(question: OfModel, view: EffectsView, trace: Trace) -> None:
    """Choose the view, the target token, and another word for it."""
    with row(at="bottom"):
        segments("View", AGAINST if view.is_against else MAPS, key=KEYS("show"))
        if view.has_token:
            menu(
                "Target token",
                enumerate(token_names(trace.predictions)),
                key=KEYS("token"),
                hides_label=True,
                width=230,
                on_change=change_token,
            )
        if view.has_token and view.show != "maps":
            if view.token:
                choose_other(question, view, trace)
            else:
                st.button(
                    WHY_NOT,
                    key=KEYS("why-not"),
                    icon=":material/compare_arrows:",
                    on_click=ask_why_not,
                )


def show_map(question: OfModel, view: EffectsView, effects: Effects) -> None:
    """The map of log-probabilities, and its largest effects in words."""
    picture = EffectMap(effects, view.place, question.target, off=view.off)
    show_clickable(question, view, picture, KEYS("map"))
    sentences = effect_sentences(effects, view.place)
    brief([*map(escape_markdown, sentences)], KEYS("map"))


def show_contrast_map(question: OfModel, view: EffectsView, contrast: Contrast) -> None:
    """The map of a word's advantage over another, and its largest effects in words."""
    picture = contrast_map(question, view, contrast)
    show_clickable(question, view, picture, KEYS("contrast"))
    brief([*map(escape_markdown, contrast_sentences(contrast))], KEYS("contrast"))


def contrast_map(question: OfModel, view: EffectsView, contrast: Contrast) -> ContrastMap:
    """What each head does for one word against another."""
    assert view.place is not None, "two words stand in one place"
    return ContrastMap(contrast, view.place, view.instead, target=question.target, off=view.off)


def show_clickable(
    question: OfModel, view: EffectsView, picture: EffectMap | WordMap | ContrastMap, key: str
) -> None:
    """A map on which clicks switch heads off and on, and below it what comes of that."""
    show_picture(picture, key, after=CLICK, drawn=replace(picture, off=()))
    switches(
        key,
        [(str(site.kind), site.layer, head) for site, head in picture.off],
        cross_colors(picture.values, picture.unit, dark=is_dark()),
        on_clicks=partial(handle_clicks, key, switch_head),
    )
    # Below the map, which stays where it is clicked.
    with st.container():
        if view.off:
            show_without(question, view)


def word_map(question: OfModel, view: EffectsView, model: Translator) -> WordMap:
    """How many words each head changes, computed site by site."""
    before = session.ask(question.translate).translation.text
    after: dict[Site, tuple[str, ...]] = {}
    slot = st.empty()
    for number, site in enumerate(model.sites):
        slot.progress(number / len(model.sites), f"Translating without heads of {site.kind}…")
        after[site] = session.ask(write_without(question.version, question.sentence, site))
    slot.empty()
    return WordMap(question.sentence, before, after, view.off)


def show_word_map(question: OfModel, view: EffectsView, model: Translator) -> WordMap:
    """Show the map of words, and the number of heads that change any."""
    picture = word_map(question, view, model)
    show_clickable(question, view, picture, KEYS("words"))
    st.markdown(changing_words(picture))
    return picture


def changing_words(picture: WordMap) -> str:
    """How many heads change the translation alone."""
    count = sum(int(np.count_nonzero(each)) for each in picture.values.values())
    total = sum(map(len, picture.after.values()))
    return f"Removing a single head changes the translation for {count} of the {total} heads."


def curve_of(question: OfModel) -> RemovalCurve:
    """The curve of this translation while heads are removed one after another."""
    left = session.ask(remove_heads(question.record))
    return RemovalCurve(left, question.sentence, question.target)


def example_curves(question: OfModel) -> dict[str, ExamplesCurve]:
    """The curves over the model's examples by measure; none, with the reason shown, without any."""
    steps = snapshots(question.folder)
    if question.snapshot not in (None, len(steps) - 1):
        hint(ONLY_TRAINED)
        return {}
    model = session.translator(question.checkpoint)
    try:
        removal = read_removal(question.folder, len(model.sites) * model.model.config.n_heads)
    except CheckpointError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        return {}
    if removal is None:
        hint(NO_CURVES)
        return {}
    return {each: ExamplesCurve(removal, each, question.model_name) for each in MEASURES}


def show_removal(question: OfModel) -> None:
    """The curve of this translation, and below it those of the examples."""
    show_picture(curve_of(question), KEYS("removal"))
    st.subheader("On the model’s examples", anchor=False)
    curves = example_curves(question)
    if curves:
        for column, (measure, picture) in zip(
            st.columns(len(curves), gap="large"), curves.items(), strict=True
        ):
            with column:
                show_picture(picture, KEYS(measure), columns=len(curves))


def show_removal_on_stage(question: OfModel, view: EffectsView) -> None:
    """One curve; keys lead to the next."""
    stage.offer(
        "Left and right: curve",
        across=stage.Step(KEYS("curve"), list(CURVES), view.curve, cycles=True),
    )
    with stage.picture():
        if view.curve == SENTENCE:
            picture: RemovalCurve | ExamplesCurve = curve_of(question)
        else:
            curves = example_curves(question)
            if not curves:
                return
            picture = curves[view.curve]
        stage.say(picture.title)
        stage.show((picture, KEYS("removal")), narrow=is_narrow())


def show_switches(view: EffectsView, ranked: list[tuple[Site, int, float]]) -> None:
    """Heads to switch off, and behind a button several at once and what is done to them."""
    names = {
        str(head): f"{head.short_name} ({style.number(loss)})"
        for site, number, loss in ranked
        for head in [Head(site, number)]
    }
    choose_heads(
        "Heads switched off, largest effects first",
        names,
        view.off,
        key=OFF,
        parameter="off",
        placeholder="None: choose a head, or click one above",
    )
    with options(KEYS("options")):
        show_buttons(view, ranked)
        menu("How to switch them off", WAYS, key=KEYS("way"), width=250)
        if view.way == "gate":
            st.slider(
                "Remaining share",
                0,
                99,
                view.gate,
                key=KEYS("gate"),
                format="%d%%",
                width=220,
                help="A factor before W_O; 0% removes the head.",
            )


def show_buttons(view: EffectsView, ranked: list[tuple[Site, int, float]]) -> None:
    """Buttons for several heads: those that matter most, all of a layer, none."""
    off = set(view.off)
    added = [head for site, number, _ in ranked if (head := Head(site, number)) not in off][:ADDED]
    st.button(
        f"Switch off the next {ADDED} by effect",
        icon=":material/trending_up:",
        key=KEYS("off-more"),
        on_click=address.change,
        kwargs={"off": (*view.off, *added)},
        disabled=not added or len(off) + len(added) > MOST_HEADS,
    )
    sites = sorted({site for site, _, _ in ranked})
    st.menu_button(
        "Switch off a layer",
        sites,
        key=KEYS("off-layer"),
        icon=":material/layers:",
        format_func=lambda site: f"{site.kind.full_name}, layer {site.layer}",
        on_click=switch_layer,
        args=(sum(site == sites[0] for site, _, _ in ranked),),
    )
    st.button(
        "All on",
        icon=":material/undo:",
        key=KEYS("off-none"),
        on_click=address.change,
        kwargs={"off": ()},
        disabled=not off,
    )


def switch_head(*cell: Any) -> None:
    """Switch the head of a clicked cell off, or on again; `cell` comes from a browser."""
    view = address.read(EffectsView)
    try:
        (head,) = OFF_PARAMETER.parse("{}.{}.{}".format(*cell))
    except (IndexError, TypeError, ValueError):
        # No map of this page sends that.
        return
    heads = [each for each in view.off if each != head]
    if len(heads) == len(view.off) < MOST_HEADS:
        heads.append(head)
    address.change(off=tuple(heads))


def switch_layer(n_heads: int) -> None:
    """Switch every head of the chosen site off."""
    site = st.session_state[KEYS("off-layer")]
    heads = dict.fromkeys(
        [*address.read(EffectsView).off, *((site, head) for head in range(n_heads))]
    )
    address.change(off=tuple(heads)[:MOST_HEADS])


def show_without(question: OfModel, view: EffectsView) -> None:
    """The translation without the heads beside the model's own, and the loss."""
    both = outcomes(question, view)
    if both is None:
        hint(NO_MEANS)
        return
    st.html(written_html(question, view, *both))
    before, after = (each.forced for each in both)
    assert before.log_probs is not None, "every trace of a translator holds them"
    assert after.log_probs is not None, "every trace of a translator holds them"
    words = price_words(before.predictions, before.log_probs, after.log_probs)
    st.markdown(escape_markdown(words))


def outcomes(question: OfModel, view: EffectsView) -> tuple[Outcome, Outcome] | None:
    """With all heads, and with some switched off; None where these need means and have none."""
    means = session.ask(average_heads(question.version)) if view.way == "mean" else {}
    if view.way == "mean" and not means:
        return None
    return session.run(question), session.run(question, view.intervention(means))


def written_html(question: OfModel, view: EffectsView, before: Outcome, after: Outcome) -> str:
    """Both translations as HTML, and the typed target."""
    typed = typed_in(question.target, before.forced.log_probs, after.forced.log_probs)
    names = (ALL_HEADS, view.changed_heads)
    return translations_html(before.free.text, after.free.text, names, dark=is_dark(), typed=typed)


def change_of(
    view: EffectsView, predictions: Tokens, both: tuple[Outcome, Outcome], contrast: Contrast | None
) -> str:
    """What the heads that are switched off change in what the map is about, in plain text."""
    done = view.changed_heads
    if contrast is not None and view.way == "gate" and not view.gate and len(view.off) == 1:
        ((site, head),) = view.off
        likeliest = contrast.likeliest[site].at([head])
        return f"{done}, {moved(contrast, contrast.without[site][head], likeliest)}."
    before, after = (each.forced.log_probs for each in both)
    assert before is not None, "every trace of a translator holds them"
    assert after is not None, "every trace of a translator holds them"
    place = view.place if contrast is None else contrast.step
    if place is None:
        return f"{done}, the unchanged translation is {price(before, after)}."
    loss = float(before[place] - after[place])
    token = axis_texts(predictions)[place]
    return f"{done}, “{token}” {change_words(float(before[place]), loss)}."


def effects_of(question: OfModel) -> Effects:
    """The loss of the translation without each head."""
    return session.ask(measure_effects(question.record))


def show_on_stage(question: OfModel, view: EffectsView, predictions: Tokens) -> None:
    """The map, and both translations above it if heads are switched off."""
    names = token_names(predictions)
    if view.is_against:
        show_against_on_stage(question, view)
        return
    if view.show == "alignment":
        show_alignment_on_stage(question)
        return
    if view.show == "removal":
        show_removal_on_stage(question, view)
        return
    if view.has_token:
        stage.offer(
            "Up and down: target token",
            down=stage.Step(KEYS("token"), range(len(names)), view.token),
        )
    if view.show == "maps":
        show_maps_on_stage(question, view)
        return
    # A phone has no room for three maps.
    picture: EffectMap | WordMap
    if view.show == "words":
        words = word_map(question, view, session.translator(question.checkpoint))
        stage.say(changing_words(words))
        if is_narrow():
            changed = words.values
            most = max(changed, key=lambda site: changed[site].max()).kind
            after = {site: each for site, each in words.after.items() if site.kind is most}
            words = replace(words, after=after)
        picture = words
    else:
        stage.say(f"Effect of each head on: {lower_first(names[view.token])}")
        effects = effects_of(question)
        if is_narrow():
            most = effects.ranked(view.place)[0][0].kind
            losses = {site: each for site, each in effects.losses.items() if site.kind is most}
            effects = replace(effects, losses=losses)
        picture = EffectMap(effects, view.place, question.target, off=view.off)
    picture = replace(picture, numbered=has_room())
    with stage.picture():
        if view.off and (both := outcomes(question, view)):
            st.html(written_html(question, view, *both))
            if view.show == "probability":
                stage.say(change_of(view, predictions, both, None))
        stage.show((picture, KEYS(picture.name)), narrow=is_narrow())


def show_against_on_stage(question: OfModel, view: EffectsView) -> None:
    """One picture of two words; keys lead to the next."""
    stage.offer(
        "Left and right: view",
        across=stage.Step(KEYS("show"), list(AGAINST), view.show, cycles=True),
    )
    contrast = contrast_of(question, view)
    stage.say(standing(contrast))
    with stage.picture():
        if view.show == "probability":
            picture: Any = replace(contrast_map(question, view, contrast), numbered=has_room())
            if view.off and (both := outcomes(question, view)):
                st.html(written_html(question, view, *both))
                stage.say(change_of(view, contrast.predictions, both, contrast))
        elif view.show == "words":
            words = word_map(question, view, session.translator(question.checkpoint))
            stage.say(replaced_sentence(contrast, words.before, words.after))
            picture = replace(words, numbered=has_room())
        else:
            picture = picture_of(question, view)
        stage.show((picture, KEYS(picture.name)), narrow=is_narrow())


def has_room() -> bool:
    """Whether cells of three maps beside each other hold numbers for the back row."""
    return not is_narrow(2)


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    show_part(question)
    watch_width(2 if stage.is_on() else 1)


def show_part(question: OfModel) -> None:
    """What is chosen, of the translation."""
    model = session.translator(question.checkpoint)
    trace = session.ask(question.record)
    view = open_pair(question, clamp_view(model, trace.predictions), trace)
    if stage.is_on():
        show_on_stage(question, view, trace.predictions)
        return
    show_choice(question, view, trace)
    if view.is_against:
        show_against(question, view)
        return
    if view.show == "maps":
        # Heads that are switched off change neither these maps nor the next.
        show_maps(question, view, model)
        return
    if view.show == "alignment":
        show_alignment(question)
        return
    effects = effects_of(question)
    if view.show == "words":
        show_word_map(question, view, model)
    elif view.show == "removal":
        show_removal(question)
        if view.off:
            show_without(question, view)
    else:
        show_map(question, view, effects)
    show_switches(view, effects.ranked(view.place))


def show_against(question: OfModel, view: EffectsView) -> None:
    """One word against another."""
    contrast = contrast_of(question, view)
    show_standing(contrast)
    if view.show == "words":
        above = st.container()
        picture = show_word_map(question, view, session.translator(question.checkpoint))
        above.markdown(escape_markdown(replaced_sentence(contrast, picture.before, picture.after)))
        return
    if view.show != "probability":
        show_view(question, view)
        return
    show_contrast_map(question, view, contrast)
    show_switches(view, contrast.ranked())
