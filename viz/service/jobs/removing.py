"""What a translation loses without heads or source tokens, or with other things in their place."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from model.explain import head_ablation, source_rows
from model.explain.ablation_results import Effects, Removal
from model.explain.attributing import attribution_part, cross_attributions, self_attributions
from model.explain.attribution import Agreements, AttributionPart, Attributions
from model.explain.attribution_methods import AttributionPiece
from model.explain.deletion import deletion_losses
from model.explain.self_attribution import SelfAttributions
from model.patching.causal_trace import restored
from model.patching.patch import SentencePair
from model.patching.results import Patched
from model.record.head_edits import HeadEdit
from model.record.intervention import Intervention
from model.record.patches import Activation, Stream
from model.trace.attention_map import FloatArray, Site
from model.trace.head import Head
from model.trace.trace import Trace
from model.trace.translation import Translation
from model.translate.translator import Translator
from viz.service.job import Ask, Job, of_model, of_trace
from viz.service.jobs.examples import find_later_rows
from viz.service.jobs.running import own_translation, record
from viz.service.loaded import corpus_survey, rule_edits
from viz.service.results import Outcome
from viz.service.versions import ModelVersion

REMOVING_EACH = "Switching every head off…"

DELETING = "Deleting every source token…"


@of_trace(REMOVING_EACH)
def measure_effects(model: Translator, trace: Trace) -> Effects:
    """The loss of a translation without each head."""
    return head_ablation.effects_of(model, trace)


@of_trace("Removing heads one after another…")
def remove_heads(model: Translator, trace: Trace) -> Removal:
    """The quality of a translation while heads are removed one after another."""
    return head_ablation.removal(model, trace, head_ablation.effects_of(model, trace))


@of_model("Translating without single heads…")
def write_without(model: Translator, sentence: str, site: Site) -> tuple[str, ...]:
    """What the model writes without each head of a site, one at a time, as texts."""
    return tuple(each.text for each in head_ablation.rewritten(model, sentence, site))


@of_trace(DELETING)
def attribute(model: Translator, trace: Trace) -> Attributions:
    """Maps of cross-attention beside what deleting source tokens does."""
    return cross_attributions(model, trace)


@of_trace("Estimating what matters…")
def attribute_in_part(model: Translator, trace: Trace, piece: AttributionPiece) -> AttributionPart:
    """Some of these maps."""
    return attribution_part(model, trace, piece)


@of_trace("Making the maps…")
def attribute_self(
    model: Translator, trace: Trace, site: Site, token: int | None
) -> SelfAttributions:
    """Maps of a site of self-attention, with gradients of one target token's prediction or all."""
    return self_attributions(model, trace, site, token=token)


@of_trace(DELETING)
def delete_tokens(model: Translator, trace: Trace, columns: range) -> FloatArray:
    """The loss without some source tokens, counted from 0, (target, some of the source)."""
    return deletion_losses(model, trace, columns)


@of_trace(DELETING)
def find_sources(model: Translator, trace: Trace) -> Mapping[int, int]:
    """The source token of each target token, as `model.explain.source_rows.token_sources`."""
    return source_rows.token_sources(model, trace)


def _later(ask: Ask, recording: Job[Trace]) -> Mapping[int, bool]:
    return ask(find_later_rows(recording.version))


@of_trace(DELETING, brings=_later)
def measure_agreement(model: Translator, trace: Trace, later: Mapping[int, bool]) -> Agreements:
    """How well the maps of `attribute` agree with deletion: small enough to keep."""
    return cross_attributions(model, trace).agreements(later=later)


def _own_and_version(
    ask: Ask, version: ModelVersion, *arguments: str
) -> tuple[Translation | None, ModelVersion]:
    return own_translation(ask, version, *arguments), version


@of_model("Translating with rules…", brings=_own_and_version)
def follow_rules(
    model: Translator,
    brought: tuple[Translation | None, ModelVersion],
    sentence: str,
    target: str,
    heads: tuple[Head, ...],
    words: Literal["", "said", "whole"] = "",
) -> Outcome:
    """A sentence with rules in place of some heads, each of one line or in words."""
    own, version = brought
    under = Intervention(heads=_rules(version, heads, words))
    forced = (
        model.trace(sentence, target, under=under)
        if own is None
        else model.trace_of(own, under=under)
    )
    return Outcome(forced, model.trace(sentence, under=under))


def _rules(version: ModelVersion, heads: tuple[Head, ...], words: str) -> Mapping[Head, HeadEdit]:
    if words:
        edits = rule_edits(version, said=words == "said")
        return {head: edits[head] for head in heads}
    survey = corpus_survey(version)
    assert survey is not None, "pages ask only with a survey"
    assert survey.rules is not None, "pages ask only with a survey of rules"
    return {head: survey.rules.heads[head].weights for head in heads}


# ---- one sentence in another --------------------------------------------------------------------


def _without_maps(
    ask: Ask, version: ModelVersion, sentence: str, target: str, other_sentence: str, *_: object
) -> tuple[Trace, Trace]:
    first, second = record(version, sentence, target), record(version, other_sentence)
    # The tokens are enough; their attention would only make the way to the worker longer.
    return replace(ask(first), maps={}), replace(ask(second), maps={})


@of_model("Putting it in…", brings=_without_maps)
def put_in(
    model: Translator,
    traces: tuple[Trace, Trace],
    sentence: str,
    target: str,  # for `_without_maps`
    other_sentence: str,
    parts: tuple[tuple[Activation, tuple[int, ...] | None], ...] = (),
) -> Patched:
    """The sentence's run with parts of the other's: each with its positions, None for all.

    Without any part, both runs as they are.
    """
    own, given = traces
    pair = SentencePair(model, sentence, other_sentence, own=own, given=given)
    return pair.patched(dict(parts)) if parts else pair.unpatched


@of_model("Putting in one token at a time…", brings=_without_maps)
def restore_tokens(
    model: Translator,
    traces: tuple[Trace, Trace],
    sentence: str,
    target: str,  # for `_without_maps`
    other_sentence: str,
    stream: Stream,
) -> FloatArray:
    """Log-probabilities with one token's hidden states after a stage put in, (token, target)."""
    own, given = traces
    return restored(SentencePair(model, sentence, other_sentence, own=own, given=given), stream)
