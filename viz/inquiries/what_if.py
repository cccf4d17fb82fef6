"""Inquiries about other masks, other positions and another order of the words."""

from functools import partial

import numpy as np

from model.explain import position_measures
from model.numbers import count_of, fixed, number
from model.record.intervention import Intervention, PositionEdit
from model.record.mask_presets import PRESETS
from model.record.patches import Stream
from model.trace.attention_map import AttentionKind
from viz.compare.view import PAIRS, CompareView
from viz.draw.labels import axis_texts
from viz.inquiries.ablation import deletion_losses
from viz.inquiries.inquiry import Answer, Inquiries, Subject, is_model, quoted
from viz.links.mask_edits import MAX_LENGTH, Edit, write
from viz.masks.view import MasksView
from viz.positions.view import PositionsView, written_order
from viz.service import session
from viz.service.jobs.removing import put_in as put_in_sentence

FIRST_SETTINGS = {"width": 2}
"""The settings that the masks page gives presets when it compares them."""

FAR = 8
"""A distance at which positions are compared with their neighbours."""

inquiry = Inquiries()


def _has_cells(kind: AttentionKind, subject: Subject) -> bool:
    """Whether a mask of a kind has something to hide, and fits an address."""
    if not subject.is_model:
        return False
    n_queries, n_keys = subject.maps(kind)[0].weights.shape[1:]
    return n_keys > 2 and max(n_queries, n_keys) <= MAX_LENGTH


# ---- another sentence ---------------------------------------------------------------------------


def _other_sentence(subject: Subject) -> str:
    """The sentence of as many words that makes a pair with the subject's; empty where none does."""
    alike = [each for each in PAIRS if len({len(text.split()) for text in each}) == 1]
    pairs = dict(alike) | {second: first for first, second in alike}
    return pairs.get(subject.question.sentence, "") if subject.is_model else ""


@inquiry(
    "put-in",
    "What if one word came from another sentence?",
    lambda subject: bool(_other_sentence(subject)),
)
def put_in(subject: Subject) -> Answer:
    other = _other_sentence(subject)
    question = subject.of_model
    asked = question.version, question.sentence, "", other
    found = session.ask(put_in_sentence(*asked))
    ones, others = (axis_texts(each) for each in (found.source, found.other_source))
    place = next((one for one, two in found.pairs if ones[one] != others[two]), 0)
    part = Stream("encoder", "output")
    patched = session.ask(put_in_sentence(*asked, ((part, (place,)),)))
    return Answer(
        f"With the encoder's output at “{ones[place]}” taken from {quoted(other)}, "
        f"{subject.change(patched.patched_text)}",
        CompareView(other=other, shown="layers", patched=f"{part}.at{place}"),
    )


# ---- masks --------------------------------------------------------------------------------------


def _compared(kind: AttentionKind, preset: str) -> MasksView:
    return MasksView(batch="", part="compare", masked=str(kind), b=f"preset.{preset}")


@inquiry(
    "see-future",
    "What if the decoder could see the future?",
    partial(_has_cells, AttentionKind.DECODER),
)
def see_future(subject: Subject) -> Answer:
    n_target = len(subject.trace.target)
    mask = np.ones((n_target, n_target), dtype=np.bool_)
    after = subject.under(Intervention(masks={AttentionKind.DECODER: mask})).forced.log_probs
    before = subject.trace.log_probs
    assert before is not None, "every trace of a translator holds them"
    assert after is not None, "every trace of a translator holds them"
    one, other = (number(float(each.sum())) for each in (before, after))
    return Answer(
        f"Word by word there is no future to see. Given its text with all later tokens in sight, "
        f"its log-probability goes from {one} to {other}.",
        _compared(AttentionKind.DECODER, "none"),
    )


def other_mask(kind: AttentionKind, name: str, lets: str, subject: Subject) -> Answer:
    """What is written under a preset in place of the model's own mask."""
    first = subject.maps(kind)[0]
    preset = PRESETS[name]
    settings = {each: FIRST_SETTINGS[each] for each in preset.settings}
    allowed = preset(len(first.queries), len(first.keys), **settings).numpy()
    after = subject.under(Intervention(masks={kind: allowed})).free.text
    return Answer(f"{lets}, {subject.change(after)}", _compared(kind, name))


for _kind, _preset, _key, _text, _lets in (
    (
        AttentionKind.DECODER,
        "causal_window",
        "short-memory",
        "What if the decoder saw only its last three words?",
        "Looking at most two tokens back",
    ),
    (
        AttentionKind.ENCODER,
        "window",
        "neighbours-only",
        "What if the encoder saw only neighbours?",
        "With source tokens looking at most two tokens away",
    ),
    (
        AttentionKind.ENCODER,
        "causal",
        "causal-encoder",
        "What if the encoder could only look back?",
        "With a causal mask in the encoder",
    ),
    (
        AttentionKind.CROSS,
        "first_token",
        "first-word",
        "What if the decoder saw only the first source word?",
        "Looking only at the first source token",
    ),
):
    inquiry(_key, _text, partial(_has_cells, _kind))(partial(other_mask, _kind, _preset, _lets))


@inquiry(
    "hidden-word",
    "What if it could not see the most important word?",
    partial(_has_cells, AttentionKind.CROSS),
    named="What if it could not see “{source}”?",
)
def hidden_word(subject: Subject) -> Answer:
    place = subject.place
    if place is None:
        place = int(deletion_losses(subject).sum(axis=0).argmax())
    allowed = np.ones((len(subject.trace.target), len(subject.trace.source)), dtype=np.bool_)
    allowed[:, place] = False
    after = subject.under(Intervention(masks={AttentionKind.CROSS: allowed})).free.text
    token = axis_texts(subject.trace.source)[place]
    return Answer(
        f"With “{token}” hidden from all cross-attention, {subject.change(after)}",
        MasksView(
            batch="",
            part="change",
            masked=str(AttentionKind.CROSS),
            edit=write([Edit(AttentionKind.CROSS, None, allowed)]),
        ),
    )


# ---- positions ----------------------------------------------------------------------------------


@inquiry("no-positions", "What if the model did not know the order?", is_model)
def no_positions(subject: Subject) -> Answer:
    after = subject.under(Intervention(positions=PositionEdit(scale=0))).free.text
    return Answer(
        f"Without positions, {subject.change(after)}",
        PositionsView(topic="without", scale=0),
    )


def _has_order(subject: Subject) -> bool:
    return subject.is_model and 2 < len(subject.trace.source) <= MAX_LENGTH


@inquiry("reversed", "What if the words stood in reverse?", _has_order)
def reversed_words(subject: Subject) -> Answer:
    order = tuple(reversed(range(len(subject.trace.source) - 1)))
    after = subject.under(Intervention(source_order=order)).free.text
    return Answer(
        f"With the source's tokens in reverse, {subject.change(after)}",
        PositionsView(topic="shuffle", shuffled=written_order(order)),
    )


@inquiry("order-blind", "Can it tell word order without positions?", _has_order)
def reversed_without(subject: Subject) -> Answer:
    order = tuple(reversed(range(len(subject.trace.source) - 1)))
    edit = PositionEdit(scale=0)
    before, after = (
        subject.under(Intervention(positions=edit, source_order=each)).free.text
        for each in (None, order)
    )
    same = "writes the same" if before == after else "still writes another text"
    return Answer(
        f"Without positions, it {same} when the source's tokens are reversed.",
        PositionsView(topic="shuffle", shuffled=written_order(order)),
    )


@inquiry("shifted", "What if every position were shifted by one?", is_model)
def shifted(subject: Subject) -> Answer:
    after = subject.under(Intervention(positions=PositionEdit(shift=1))).free.text
    return Answer(
        f"With every position shifted by one, {subject.change(after)}",
        PositionsView(topic="without", shift=1),
    )


def adds_positions(subject: Subject) -> bool:
    """Whether the model adds a table of positions to its embeddings."""
    return subject.is_model and subject.model.positions.is_added


@inquiry("what-positions", "What do positions look like?", adds_positions)
def what_positions(subject: Subject) -> Answer:
    table = subject.model.position_table()
    rows, width = table.shape
    if subject.model.positions.is_learned:
        kind = f"A learned table of {rows:,} positions, {width} numbers each"
    else:
        kind = f"Sines and cosines: {width} numbers a position, the same formula for every position"
    length = fixed(float(position_measures.row_norms(table[: len(subject.trace.source)]).mean()), 1)
    return Answer(
        f"{kind}, added to the embeddings; a vector's length is {length} on this sentence.",
        PositionsView(),
    )


def _has_neighbours(subject: Subject) -> bool:
    if not adds_positions(subject):
        return False
    trained = subject.model.trained_positions() or subject.model.model.config.max_positions
    return trained > FAR


@inquiry("neighbours", "How similar are neighbouring positions?", _has_neighbours)
def neighbours(subject: Subject) -> Answer:
    table = subject.model.position_table()[: subject.model.trained_positions()]
    near, far = (_cosine(table, offset) for offset in (1, FAR))
    return Answer(
        f"Neighbouring positions have a cosine similarity of {fixed(near, 2)}, positions {FAR} "
        f"apart {fixed(far, 2)}, on average over {count_of(len(table), 'position')}.",
        PositionsView(topic="likeness"),
    )


def _cosine(table: np.ndarray, offset: int) -> float:
    directions = table / np.linalg.norm(table, axis=1, keepdims=True)
    return float((directions[offset:] * directions[:-offset]).sum(axis=1).mean())
