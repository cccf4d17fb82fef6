"""The selection on the masks page, and what its parts share: edits, translations, probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from model.record.mask_presets import PRESETS, sentence_lengths
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, FloatArray, Tokens
from model.trace.token_schemes import PADDING
from model.trace.trace import Trace
from viz.browser.kept import Kept, nothing
from viz.draw.labels import escape_markdown
from viz.draw.word_diff import translations_html
from viz.links.mask_edits import EDITABLE, Edit, parse, require_shape, write
from viz.masks.batch_masks import batch_masks
from viz.masks.compared import NamedMask
from viz.masks.head_in_batch import HeadInBatch
from viz.masks.log_probs import LogProbs
from viz.masks.mask import Mask, mask_title
from viz.masks.preset_masks import edited_mask, preset_mask
from viz.masks.steps import Steps
from viz.masks.view import KEYS, MasksView
from viz.save.picture import Picture
from viz.service.questions import ModelQuestion
from viz.service.results import Batch, Outcome
from viz.shell import address, stage
from viz.shell.save_menu import save_button, show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import CAPTIONED

AHEAD = (
    "Opening future cells of the decoder matters only under teacher forcing: while the model "
    "writes, there are no later words."
)
HONESTY = (
    "The model was trained only with its own masks. A better number here, with the earlier words "
    "given, does not mean a better translation; see the translation above."
)
NO_SCORES = "This model's scores were not recorded."
NOTICE: Kept[str | None] = Kept(KEYS("notice"), nothing)
"""Why the last edits could not be kept."""

_EDITS: Kept[tuple[str, tuple[Edit, ...]]] = Kept(KEYS("edits"), lambda: ("", ()))
"""The text of edits that was read or written last, with the edits."""

_MADE: Kept[set[int]] = Kept(KEYS("made"), set)
"""The hashes of the texts of all edits that were made here."""

FIRST_SETTINGS: dict[str, Any] = {"k": 1, "width": 2, "keys": (0,)}
"""The first settings of presets."""

WITH_CAUSAL = {"block_words", "block_diagonal"}
"""The presets that leave the decoder's causal mask on."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The selection on the masks page.

    Attributes:
        question: the bar's, with the batch and the number of its sentence.
        layer: from 0.
        head: from 0.
    """

    question: ModelQuestion
    batch: Batch
    kind: AttentionKind
    layer: int
    head: int

    @property
    def sentences(self) -> tuple[str, ...]:
        return self.question.sentences

    @property
    def number(self) -> int:
        """Which sentence of the batch, from 0."""
        return self.question.number

    @property
    def at(self) -> HeadInBatch:
        return HeadInBatch(
            self.sentences, self.number, self.question.target, self.kind, self.layer, self.head
        )

    @property
    def trace(self) -> Trace:
        """The sentence's trace, with the rows and columns of its padding."""
        return self.batch.padded[self.number]

    @property
    def attention(self) -> AttentionMap:
        return self.trace.attention(self.kind, self.layer)

    @property
    def head_name(self) -> str:
        return self.attention.site.head_name(self.head)

    @property
    def masks(self) -> dict[str, Mask]:
        return batch_masks(self.batch.padded, self.number)

    @property
    def own(self) -> Mask:
        """The model's own mask of the attention."""
        return self.masks[str(self.kind)]

    @property
    def lengths(self) -> tuple[int, int]:
        """How many queries and keys are not padding."""
        n_source, n_target = (
            counts[self.number] for counts in (self.batch.n_source, self.batch.n_target)
        )
        return self.kind.axes(n_source, n_target, 0)

    @property
    def painted(self) -> str:
        """The name of the mask that is painted, so that no stroke lands on another."""
        return f"{self.number}.{self.kind}.{self.layer}"

    def log_probs(self, forced: Trace) -> tuple[Tokens, FloatArray]:
        """The tokens a pass predicts, without padding, and their log-probabilities."""
        assert forced.log_probs is not None, "every trace of a translator holds them"
        n_target = self.batch.n_target[self.number]
        return forced.predictions[:n_target], forced.log_probs[:n_target]


def show_caption(text: str) -> None:
    st.caption(escape_markdown(text))


def current_edits(selection: Selection) -> tuple[Edit, ...]:
    """The edits in the address; if they do not fit this batch, none, and a notice."""
    text = address.read(MasksView).edit
    known, edits = _EDITS.value
    shapes = {kind: selection.masks[str(kind)].cells.shape for kind in EDITABLE}
    try:
        if text != known:
            edits = parse(text, shapes)
            _EDITS.value = text, edits
        for edit in edits:
            require_shape(edit.allowed.shape, shapes[edit.kind])
            edit.require_layers(selection.trace.layers(edit.kind))
    except ValueError as error:
        address.change(edit="")
        address.note("edit", f"{error} The model's own masks are shown.")
        return ()
    return edits


def store(edits: Sequence[Edit]) -> None:
    """Keep edits in the address; the next run says so if they cannot be kept."""
    try:
        text = write(edits)
    except ValueError as error:
        NOTICE.value = str(error)
        return
    address.change(edit=text)
    _EDITS.value = text, tuple(edits)
    _MADE.value.add(hash(text))


def is_own(written: str) -> bool:
    """Whether the visitor made these edits, and no link brought them."""
    return hash(written) in _MADE.value


def offer_head_keys(selection: Selection, title: str) -> None:
    """The keys of a part that shows one head, and its name."""
    kinds = [str(kind) for kind in EDITABLE]
    stage.offer(
        "Arrow keys: layer and head · A: attention",
        across=stage.Step(KEYS("head"), range(selection.attention.n_heads), selection.head),
        down=stage.Step(KEYS("layer"), selection.trace.layers(selection.kind), selection.layer),
        more={"a": stage.Step(KEYS("masked"), kinds, str(selection.kind), cycles=True)},
    )
    stage.say(f"{title}: {selection.at.title}")


def largest_score(selection: Selection, inside: Steps) -> float:
    """The size of the largest score of a word, by which scores are coloured.

    Padding may have far larger scores, which would wash out all others.
    """
    n_queries, n_keys = selection.lengths
    return max(float(np.abs(inside.scores[:n_queries, :n_keys]).max()), 1e-6)


def preset_of(name: str, selection: Selection, settings: Mapping[str, Any]) -> NamedMask:
    """A preset on the padded axes; padding stays forbidden unless the preset is about padding."""
    preset, own = PRESETS[name], selection.own
    known = {
        **settings,
        "lengths": sentence_lengths(own.queries),
        "key_lengths": sentence_lengths(own.keys),
    }
    axes = len(own.queries), len(own.keys)
    allowed = preset(*axes, **{each: known[each] for each in preset.settings}).numpy()
    if not preset.over_padding:
        allowed = allowed & np.array([token != PADDING for token in own.keys], dtype=np.bool_)
    joins = name in WITH_CAUSAL and selection.kind is AttentionKind.DECODER
    if joins:
        allowed = allowed & selection.masks["causal"].allowed
    mask = preset_mask(
        preset.title,
        np.asarray(allowed, dtype=np.bool_),
        own.queries,
        own.keys,
        kind=selection.kind,
        reason=preset.reason,
        causal=preset.causal or joins,
    )
    return NamedMask(f"preset.{name}", mask_title(mask, preset.title), mask)


def presets_of(kind: AttentionKind) -> list[str]:
    """The names of the presets that make sense for a kind of attention."""
    return [name for name, preset in PRESETS.items() if kind in preset.kinds]


def edited_of(selection: Selection, allowed: BoolArray) -> NamedMask:
    """A mask that has no name but “Edited”."""
    mask = edited_mask(selection.own, allowed)
    return NamedMask(f"edited.{selection.kind}", "Edited", mask)


def show_translations(
    selection: Selection,
    one: Outcome,
    other: Outcome,
    names: tuple[str, str],
    pictures: Sequence[Picture] = (),
) -> None:
    """The model's own translations under two sets of masks.

    Beside the heading stands the button that saves `pictures`, which end above it.
    """
    before, after = one.free.text, other.free.text
    same = "stays the same" if before == after else "changes"
    with st.container(
        horizontal=True, vertical_alignment="center", key=CAPTIONED(KEYS("translations"))
    ):
        st.subheader(f"Written word by word, the translation {same}", anchor=False)
        save_button(pictures, KEYS("translations"))
    st.html(translations_html(before, after, names, dark=is_dark()))


def show_probabilities(picture: LogProbs) -> None:
    """The probabilities of the given words under two sets of masks."""
    (_, before), (_, after) = picture.sides
    changed = "keep their probability" if np.array_equal(before, after) else "change in probability"
    st.subheader(f"Under teacher forcing, the given words {changed}", anchor=False)
    is_decoder = picture.at.kind is AttentionKind.DECODER
    show_picture(
        picture, KEYS(picture.name), further=f"{HONESTY} {AHEAD}" if is_decoder else HONESTY
    )
