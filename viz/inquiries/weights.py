"""Inquiries whose answers are read off the weights of attention."""

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import numpy as np

from model.explain.head_numbers import resting
from model.explain.head_rows import TOKENS, Values, WeightOn, allowed_per_head
from model.explain.measures import MEASURES, MIN_SOURCES
from model.explain.source_measures import ON_SOURCE, on_sources
from model.numbers import count_of, fixed, percent
from model.trace.attention_map import (
    NO_ID,
    AttentionKind,
    AttentionMap,
    BoolArray,
    FloatArray,
    Site,
)
from model.trace.head import Head
from model.trace.token_schemes import special
from viz.draw.labels import axis_texts
from viz.heads.view import HeadsView
from viz.inquiries.inquiry import Answer, Inquiries, Subject, best_head
from viz.service import session
from viz.service.jobs.removing import find_sources

UNKNOWN = "On this sentence, no head can be measured for that; try a longer one."

MEASURE = {measure.key: measure for measure in MEASURES}

RESTS = {"end": "</s>", "start": "<s>", "punctuation": "punctuation"}

inquiry = Inquiries()


def at_head(site: Site, head: int) -> HeadsView:
    """The heads page with one head."""
    return HeadsView(attention=str(site.kind), layer=site.layer, head=head)


def can_tell(key: str, subject: Subject) -> bool:
    """Whether the trace has rows that a measure is about."""
    measure = MEASURE[key]
    return any(
        _has_rows(each, key, isinstance(measure.of, WeightOn))
        for each in subject.maps(*measure.kinds)
    )


def _has_rows(attention: AttentionMap, measure: str, is_share: bool) -> bool:
    n_queries, n_keys = len(attention.queries), len(attention.keys)
    if min(n_queries, n_keys) < 2:
        return False
    if measure in TOKENS:
        # Of rows that may not look ahead, enough have to come after it.
        is_causal = attention.site.kind is AttentionKind.DECODER
        seen = attention.keys.tokens[: n_keys // 2] if is_causal else attention.keys.tokens
        return any(map(TOKENS[measure], seen))
    return n_queries == n_keys or not (is_share or measure == "distance")


def extreme(key: str, text: str, says: str, *, least: bool = False) -> None:
    """Ask for the head with the greatest, or the least, value of a measure.

    Args:
        says: the end of a sentence on the head, with its {value}, and {heads} it was among.
    """

    @inquiry(f"head-{key.replace('_', '-')}", text, partial(can_tell, key))
    def found(subject: Subject) -> Answer:
        best = best_head(subject.facts, key, least=least)
        if best is None:
            return Answer(UNKNOWN, HeadsView(attention=str(next(iter(subject.trace.maps)).kind)))
        site, head, value = best
        heads = sum(int(np.count_nonzero(~np.isnan(each[key]))) for each in subject.facts.values())
        unit = MEASURE[key].unit
        shown = percent(value) if unit == "share" else fixed(value, 1 if unit == "tokens" else 2)
        if unit in ("tokens", "bits"):
            shown += f" {unit}"
        end = says.format(value=shown, heads=count_of(heads, "head"))
        return Answer(f"{site.head_name(head)}: {end}.", at_head(site, head))


for _key, _where, _place in (
    ("previous", "the previous token", "the token before"),
    ("next", "the next token", "the token after"),
    ("same", "the token itself", "the token itself"),
    ("start", "the sentence start", "<s>"),
    ("end", "the sentence end", "</s>"),
    ("punctuation", "punctuation", "punctuation"),
):
    extreme(
        _key,
        f"Which head looks at {_where}?",
        f"{{value}} of its weight goes to {_place}, on average over the tokens that can look there",
    )
extreme(
    "distance",
    "Which head looks farthest away?",
    "on average it looks {value} away, the farthest of {heads}",
)
extreme(
    "entropy_share",
    "Which head spreads its weight most?",
    "its rows reach {value} of the greatest possible entropy, the most of {heads}",
)
extreme(
    "entropy",
    "Which head is the sharpest?",
    "a row's weights have {value} of entropy on average, the least of {heads}; 0 is all weight "
    "on one token",
    least=True,
)
extreme(
    "diagonal",
    "Which head follows the order of the sentence?",
    "the positions of rows and of what they look at correlate at {value}, the most of {heads}; "
    "1 is a straight line",
)


# ---- repeated tokens, resting heads, twins ------------------------------------------------------


def repeats(attention: AttentionMap) -> BoolArray:
    """Where a query and a key are the same token at two places, (query, key)."""
    ids = np.array(attention.queries.ids)
    word = np.array(
        [
            token_id != NO_ID and not special(token)
            for token, token_id in zip(attention.queries.tokens, ids.tolist(), strict=True)
        ]
    )
    same: BoolArray = (ids[:, None] == ids) & word[:, None] & ~np.eye(len(ids), dtype=np.bool_)
    return same


def _self_maps(subject: Subject) -> list[AttentionMap]:
    own = subject.maps(AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.MODULE)
    return [each for each in own if each.queries == each.keys]


def has_repeats(subject: Subject) -> bool:
    """Whether a token can look at itself at another place."""
    firsts = {each.site.kind: each for each in _self_maps(subject)}.values()
    return any((repeats(each) & allowed_per_head(each.allowed)).any() for each in firsts)


def on_repeats(attention: AttentionMap) -> Values:
    """Each head's weight on the other places of a token, over the rows that may look at one."""
    same = repeats(attention) & allowed_per_head(attention.allowed)
    counted = np.broadcast_to(same.any(axis=-1), attention.weights.shape[:2])
    shares = (attention.weights * same).sum(axis=-1)
    found: Values = np.divide(
        (shares * counted).sum(axis=-1),
        counted.sum(axis=-1),
        out=np.full(attention.n_heads, np.nan),
        where=counted.any(axis=-1),
    )
    return found


@inquiry("head-repeats", "Which head looks at the same word elsewhere?", has_repeats)
def repeats_answer(subject: Subject) -> Answer:
    facts = {each.site: {"repeats": on_repeats(each)} for each in _self_maps(subject)}
    found = best_head(facts, "repeats")
    assert found is not None, "it is offered only where a token occurs twice"
    site, head, share = found
    return Answer(
        f"{site.head_name(head)}: a token that occurs more than once gives {percent(share)} "
        "of its weight to its other places, on average.",
        at_head(site, head),
    )


@inquiry(
    "resting",
    "How many heads rest on tokens that mean little?",
    lambda subject: any(can_tell(each, subject) for each in RESTS),
)
def resting_answer(subject: Subject) -> Answer:
    counts = {key: resting([subject.trace])[key] for key in RESTS}
    told = {key: count for key, count in counts.items() if count[1]}
    if not told:
        return Answer(UNKNOWN, HeadsView())
    listed = "; ".join(
        f"on {RESTS[key]} in {most or 'none'} of {count_of(heads, 'head')}"
        for key, (most, heads) in told.items()
    )
    most = max(told, key=lambda key: told[key][0])
    best = best_head(subject.facts, most)
    assert best is not None, "heads were counted"
    view = HeadsView(attention=str(best[0].kind), layer=best[0].layer, head=best[1], order=most)
    return Answer(f"More than half of the weight rests {listed}.", view)


def overlap(one: FloatArray, other: FloatArray, counted: BoolArray) -> float:
    """The share of weight that two heads put on the same cells, over the rows that count."""
    rows = np.minimum(one, other).sum(axis=-1)
    return float(rows[counted].mean()) if counted.any() else 0.0


def _pairs(subject: Subject) -> Iterator[tuple[float, Head, Head]]:
    for kind in AttentionKind:
        maps = subject.maps(kind)
        heads = [(each, head) for each in maps for head in range(each.n_heads)]
        for (one, first), (other, second) in combinations(heads, 2):
            if one.weights.shape[1:] != other.weights.shape[1:]:
                continue
            # A row without a choice is the same in every head.
            both = allowed_per_head(one.allowed)[0] & allowed_per_head(other.allowed)[0]
            counted = both.sum(axis=-1) >= 2
            share = overlap(one.weights[first], other.weights[second], counted)
            yield share, Head(one.site, first), Head(other.site, second)


@inquiry(
    "twins",
    "Which two heads look most alike?",
    lambda subject: any(
        sum(each.n_heads for each in subject.maps(kind)) > 1 for kind in AttentionKind
    ),
)
def twins_answer(subject: Subject) -> Answer:
    share, (one, first), (other, second) = max(_pairs(subject), key=lambda pair: pair[0])
    pair = f"{one.layer}.{first}-{other.layer}.{second}"
    view = HeadsView(attention=str(one.kind), layer=one.layer, head=first, compare=pair)
    return Answer(
        f"{one.kind.full_name}, heads {one.layer}.{first} and {other.layer}.{second} (layer.head): "
        f"{percent(share)} of their weight lies on the same cells.",
        view,
    )


# ---- one column, one cell -----------------------------------------------------------------------


def main_maps(subject: Subject) -> list[AttentionMap]:
    """The maps of cross-attention, or of the first kind that there is."""
    kind = next(iter(subject.trace.maps)).kind
    return subject.maps(AttentionKind.CROSS) or subject.maps(kind)


@inquiry("most-looked-at", "Which token gets most attention?")
def most_looked_at(subject: Subject) -> Answer:
    maps = main_maps(subject)
    rows = np.concatenate([each.weights.sum(axis=1) for each in maps])
    shares = rows.sum(axis=0) / rows.sum()
    place, first = int(shares.argmax()), maps[0]
    token = axis_texts(first.keys)[place]
    best = max(
        ((each.weights[:, :, place].mean(axis=1), each.site) for each in maps),
        key=lambda pair: float(pair[0].max()),
    )
    return Answer(
        f"“{token}” gets {percent(float(shares[place]))} of the weight of all "
        f"{first.site.kind.full_name.lower()} heads, the most of "
        f"{count_of(len(shares), first.site.kind.key_noun)}.",
        at_head(best[1], int(best[0].argmax())),
    )


def has_scores(subject: Subject) -> bool:
    """Whether scores, queries and keys are known."""
    first = main_maps(subject)[0]
    return first.scores is not None and first.q is not None and len(first.keys) > 1


@inquiry("computed", "How is a weight computed?", has_scores)
def how_computed(subject: Subject) -> Answer:
    maps = {each.site: each for each in main_maps(subject)}
    facts = {site: subject.facts[site] for site in maps}
    found = best_head(facts, "pairing") or best_head(facts, "entropy", least=True)
    assert found is not None, "every trace with two keys has an entropy"
    site, head, _ = found
    attention = maps[site].head(head)
    assert attention.scores is not None, "it is offered only where scores are known"
    chooses = attention.allowed.sum(axis=-1) >= 2
    weights = np.where(chooses[:, None], attention.weights, -1)
    query, key = map(int, np.unravel_index(int(weights.argmax()), weights.shape))
    names = axis_texts(attention.queries)[query], axis_texts(attention.keys)[key]
    view = HeadsView(
        attention=str(site.kind),
        layer=site.layer,
        head=head,
        cell=f"{query}.{key}",
        below="query-key",
    )
    return Answer(
        f"{site.head_name(head)}: the query of “{names[0]}” and the key of “{names[1]}” score "
        f"{fixed(float(attention.scores[query, key]), 2)}, and the softmax over the row makes a "
        f"weight of {fixed(float(weights[query, key]), 2)} of it.",
        view,
    )


# ---- sources ------------------------------------------------------------------------------------


def _has_sources(subject: Subject) -> bool:
    return subject.is_model and len(subject.trace.predictions) > MIN_SOURCES


@inquiry("source", "Which head finds a word's source?", _has_sources)
def finds_source(subject: Subject) -> Answer:
    sources = session.ask(find_sources(subject.of_model.record))
    facts = {each.site: on_sources(each, sources) for each in subject.maps(AttentionKind.CROSS)}
    both = [(best_head(facts, measure.key), later) for later, measure in enumerate(ON_SOURCE)]
    told = [(found, later) for found, later in both if found is not None]
    if not told:
        known = count_of(len(sources), "token")
        return Answer(
            f"This sentence cannot tell: only {known} of it clearly depend on one source token, "
            f"and {MIN_SOURCES} are needed.",
            HeadsView(),
        )
    (site, head, share), later = max(told, key=lambda each: each[0][2])
    token = "the token just read" if later else "the token it is about to write"
    return Answer(
        f"{site.head_name(head)}: {percent(share)} of its weight beyond chance goes to the source "
        f"token on which {token} depends most.",
        at_head(site, head),
    )
