"""What a survey says of a head, in sentences."""

import math

from model.explain.alignment_table import AlignmentTable, Read
from model.explain.growth import Growth
from model.explain.label_rules import MIN_PASSING, RULE
from model.explain.labels import Label
from model.explain.measures import EFFECT
from model.rules.weight_rules import BY_DISTANCE, RULES
from model.survey.corpus_survey import CorpusSurvey, Effect, HeadRule
from model.survey.sentence_index import Does, SentenceIndex
from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.corpus.quantities import QUANTITIES, ranked, written
from viz.draw import style
from viz.draw.style import count_of, percent

UNCHANGED = 0.01
"""Nats; a loss below is written as none."""


def no_survey(model_name: str, *, is_snapshot: bool = False) -> str:
    """Why there is nothing to show, and what to do."""
    if is_snapshot:
        return "Only the fully trained model has a survey; choose its last training step."
    return (
        "This model has no survey of its heads over many sentences; headscope survey "
        f"{model_name} --data PAIRS.tsv makes one."
    )


def label_sentence(survey: CorpusSurvey, place: Head, named: str = "This head") -> str:
    """What a head does, and how sure that is.

    Args:
        named: how the sentence calls it.
    """
    label = survey.label(place)
    if label is None:
        return f"{named} has no label: too few sentences can tell what it does."
    if label.is_rule:
        return f"{named}: {label.text}. {label.reason}"
    if not label.earned:
        return (
            f"{named} has no label: no pattern holds in {percent(MIN_PASSING)} of the sentences. "
            f"Closest: {label.text}."
        )
    held = survey.of(place).held.get(label.measure)
    if held is None or not held.count:
        return f"{named} {label.text}."
    low, high = held.interval
    return (
        f"{named} {label.text}: it has {RULE[label.measure].needs} in {_share(held.share)} of "
        f"{count_of(held.count, 'sentence')} other than those behind the label (95% interval "
        f"{_share(low)} to {_share(high)})."
    )


def _share(share: float) -> str:
    """Whole percent, except where that would round up to 100%."""
    return percent(min(share, 0.999), 1) if 0.995 <= share < 1 else percent(share)


def effect_sentence(survey: CorpusSurvey, place: Head) -> str:
    """What translations lose without a head, and how that compares with others."""
    effect = survey.of(place).effect
    if not effect.count:
        return "Its effect was not measured."
    order = [each for each, _ in ranked(survey, EFFECT.key)]
    rank = order.index(place) + 1
    nth = "the largest" if rank == 1 else f"number {rank}"
    return (
        f"Without it, a translation is {times_less(effect)}; of {len(order)} heads, its effect is "
        f"{nth}."
    )


def alignment_sentence(table: AlignmentTable, place: Head) -> str | None:
    """How well a head links words, against links made by hand; None where it was not measured."""
    site, head = place
    rates = {
        later: table.rates[read]
        for later in (False, True)
        if (read := Read(site.layer, head, later)) in table.rates
    }
    if site.kind is not AttentionKind.CROSS or not rates:
        return None
    later = min(rates, key=lambda each: rates[each].error)
    row = "reads" if later else "predicts"
    return (
        "Its alignment error rate against word links made by hand is "
        f"{percent(rates[later].error)} ({count_of(table.n_pairs, 'sentence')}, by the row that "
        f"{row} a word); linking words by their order alone has {percent(table.diagonal.error)}."
    )


def came_sentence(growth: Growth, place: Head, label: Label | None) -> str | None:
    """Since which step of its training a head has done what its label says."""
    for site, head, text, step in growth.lasting_labels():
        if (site, head) == place and label is not None and text == label.text:
            return f"It has done so since step {step:,} of {growth.steps[-1]:,} of its training."
    return None


def found_sentence(
    index: SentenceIndex, found: list[tuple[int, Does]], words: str, place: Head, rule: str
) -> str:
    """How many sentences were `found`, and in how many of them a head does something."""
    every = count_of(len(index.sources), "sentence")

    def have(with_words: int) -> str:
        return f"{with_words:,} of {every} {'has' if with_words == 1 else 'have'} these words."

    if not rule:
        if words.strip():
            return have(len(found))
        return f"{every}. Type words, or choose where a head looks."
    mostly = sum(level is Does.MOSTLY for _, level in found)
    searched = len(index.found(words)) if words.strip() else len(index.sources)
    text = f"{place.short_name} looks {RULES[rule].text} in {_so_many(len(found), searched)}"
    if found:
        text += (
            f"; in {_so_many(mostly, len(found))} of them, it does so in at least half of the rows "
            "that have such a token"
        )
    return f"{have(searched)} Of these, {text}." if words.strip() else f"Of {every}, {text}."


def _so_many(count: int, every: int) -> str:
    """A count of several."""
    if not count:
        return "none"
    return "all" if count == every > 1 else f"{count:,}"


def rule_sentence(rule: HeadRule) -> str:
    """A head's best rule, how well it fits, and what it costs."""
    return (
        f"Its best rule: it looks {rule_text(rule)}. This overlaps by {percent(rule.overlap)} "
        "with where it looked in sentences that the rule was not fitted to. With the rule in its "
        f"place, a translation is {times_less(rule.cost)}."
    )


def rule_text(rule: HeadRule) -> str:
    """Where a rule looks, after "looks"."""
    texts = [
        "by distance alone" if name == BY_DISTANCE else RULES[name].text
        for name in rule.weights.rules
    ]
    if len(texts) == 1:
        return texts[0]
    return " and ".join(
        f"{percent(share)} {text}" for share, text in zip(rule.weights.shares, texts, strict=True)
    )


def times_less(effect: Effect) -> str:
    """A mean loss as a factor of probability, with its interval."""
    low, high = effect.interval
    interval = (
        f" (95% interval {_factor(low)} to {_factor(high)}, {count_of(effect.count, 'sentence')})"
        if not math.isnan(effect.error)
        else ""
    )
    if abs(effect.mean) < UNCHANGED:
        return f"as likely as before{interval}"
    if low <= 0 <= high:
        # Whatever the mean, the sentences cannot tell it from none.
        return f"not clearly less likely: {_factor(effect.mean)} times{interval}"
    way = "less" if effect.mean > 0 else "more"
    return f"{_factor(abs(effect.mean))} times {way} likely{interval if way == 'less' else ''}"


def _factor(loss: float) -> str:
    factor = math.exp(min(loss, 50))
    return (
        f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}" if factor >= 2 else f"{factor:.2f}"
    )


def all_sentence(survey: CorpusSurvey, across: str, up: str) -> str:
    """Which head is strongest by one measure, and what the other says of it."""
    found = ranked(survey, across)
    if not found:
        return "No head of this model has that measure."
    (site, head), value = found[0]
    name = _in_sentence(QUANTITIES[across].name)
    text = f"{site.head_name(head)} has the largest {name}: {written(across, value)}."
    if across == up:
        return text
    if up == EFFECT.key:
        effect = survey.of(Head(site, head)).effect
        return (
            f"{text} Without it, a translation is {times_less(effect)}." if effect.count else text
        )
    other = dict(ranked(survey, up)).get(Head(site, head))
    if other is None:
        return text
    return f"{text} Its {_in_sentence(QUANTITIES[up].name)}: {written(up, other)}."


def rules_sentence(survey: CorpusSurvey) -> str:
    """How many heads can be rules, and at what cost."""
    rules = survey.rules
    assert rules is not None, "the page says so before"
    place = rules.cheap
    count, every = rules.counts[place], len(rules.heads)
    lost = rules.bleu.ruled[0] - rules.bleu.ruled[place]
    gone = rules.bleu.ruled[0] - rules.bleu.removed[place]
    low, high = rules.bleu.low[place], rules.bleu.high[place]
    cost = f"a cost of {style.fixed(lost, 1)}" if lost >= 0.05 else "no cost in"
    return (
        f"{count} of {every} heads can be replaced by rules at {cost} BLEU (95% interval of the "
        f"loss {style.fixed(low, 1)} to {style.fixed(high, 1)}, "
        f"{count_of(rules.translated, 'sentence')}). Removing the same heads costs "
        f"{style.fixed(gone, 1)}."
    )


def sample_sentence(survey: CorpusSurvey) -> str:
    """What the survey is of."""
    sample = survey.sample
    measured = (
        f"Measured on {count_of(sample.sentences, 'sentence')} ({sample.data}; licence: "
        f"{sample.licence})."
    )
    if survey.missing:
        lacks = ", ".join(f"“{QUANTITIES[key].name}”" for key in survey.missing)
        measured += f" It lacks {lacks}; headscope survey measures it anew."
    if survey.held_out >= sample.sentences:
        return measured
    return (
        f"{measured} {sample.sentences - survey.held_out:,} of them are from its training; labels, "
        f"effects and rules come from the other {survey.held_out:,}."
    )


def _in_sentence(name: str) -> str:
    return name[0].lower() + name[1:]
