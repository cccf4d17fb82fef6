"""What the masks page looks at, and what its parts share: edits, translations, probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from model.record.mask_presets import sentence_lengths
from model.record.mask_rules import Preset
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, FloatArray, Tokens
from model.trace.trace import Trace
from model.trace.word_grouping import PADDING
from viz.draw.labels import escape_markdown
from viz.links.mask_edits import EDITABLE, Edit, parse, require_shape, write
from viz.masks.mask import Mask, batch_masks
from viz.masks.panels import translations_html
from viz.masks.pictures import HeadInBatch, LogProbs
from viz.masks.steps import Steps
from viz.masks.view import MasksView
from viz.save.picture import Picture
from viz.service import jobs, session
from viz.shell import address
from viz.shell.save_menu import save_button, show_picture
from viz.shell.theme import is_dark

AHEAD = (
    "Word by word there are no later words to look at: opening future cells of the decoder shows "
    "under teacher forcing alone."
)
HONESTY = (
    "The model was trained with its own masks. Under others it is off its training distribution: a "
    "better number under teacher forcing, where the right words so far are given, is no better "
    "translation. What it writes on its own stands above."
)
NO_SCORES = "This model's scores were not recorded."
_EDITS = "_edits"
"""The text in the address that was read or written last, with its edits."""

FIRST_SETTINGS: dict[str, Any] = {"k": 1, "width": 2, "keys": (0,)}
"""What a preset begins with."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """What the page looks at.

    Attributes:
        question: of the sentence bar, with the batch and which of its sentences.
        batch: its traces.
        kind: which attention.
        layer: from 0.
        head: from 0.
    """

    question: session.Question
    batch: jobs.Batch
    kind: AttentionKind
    layer: int
    head: int

    @property
    def sentences(self) -> tuple[str, ...]:
        """The batch."""
        return self.question.sentences

    @property
    def number(self) -> int:
        """Which sentence of it, from 0."""
        return self.question.number

    @property
    def at(self) -> HeadInBatch:
        """The chosen head and sentence, for pictures."""
        return HeadInBatch(
            self.sentences, self.number, self.question.target, self.kind, self.layer, self.head
        )

    @property
    def trace(self) -> Trace:
        """The chosen sentence's trace, with the rows and columns of its padding."""
        return self.batch.padded[self.number]

    @property
    def seen(self) -> AttentionMap:
        """The chosen site."""
        return self.trace.attention(self.kind, self.layer)

    @property
    def head_name(self) -> str:
        """Which head, in words."""
        return self.seen.site.head_name(self.head)

    @property
    def masks(self) -> dict[str, Mask]:
        """Every mask of the chosen sentence."""
        return batch_masks(self.batch.padded, self.number)

    @property
    def own(self) -> Mask:
        """The model's own mask of the chosen attention."""
        return self.masks[str(self.kind)]

    @property
    def lengths(self) -> tuple[int, int]:
        """How many queries and keys of the chosen site are no padding."""
        n_source, n_target = (
            counts[self.number] for counts in (self.batch.n_source, self.batch.n_target)
        )
        return self.kind.axes(n_source, n_target, 0)

    @property
    def painted(self) -> str:
        """What a stroke is one of, so that it never lands on another mask."""
        return f"{self.number}.{self.kind}.{self.layer}"

    def log_probs(self, forced: Trace) -> tuple[Tokens, FloatArray]:
        """What a pass predicts of the chosen sentence, without its padding, and how surely."""
        assert forced.log_probs is not None, "every trace of a translator holds them"
        n_target = self.batch.n_target[self.number]
        return forced.predictions[:n_target], forced.log_probs[:n_target]


def show_caption(text: str) -> None:
    """How to read what stands above."""
    st.caption(escape_markdown(text))


def current_edits(chosen: Chosen) -> tuple[Edit, ...]:
    """The edits in the address, if they fit this batch; what does not fit is said and dropped."""
    text = address.read(MasksView).edit
    known, edits = st.session_state.get(_EDITS, ("", ()))
    shapes = {kind: chosen.masks[str(kind)].cells.shape for kind in EDITABLE}
    try:
        if text != known:
            edits = parse(text, shapes)
            st.session_state[_EDITS] = text, edits
        for edit in edits:
            require_shape(edit.allowed.shape, shapes[edit.kind])
            edit.require_layers(chosen.trace.layers(edit.kind))
    except ValueError as error:
        address.change(edit="")
        address.note("edit", f"{error} The model's own masks are shown.")
        return ()
    return edits


def store(edits: Sequence[Edit]) -> None:
    """Keep edits in the address; what keeps them from it is said in the next run."""
    try:
        text = write(edits)
    except ValueError as error:
        st.session_state["_mask_notice"] = str(error)
        return
    address.change(edit=text)
    st.session_state[_EDITS] = text, tuple(edits)


def largest_score(chosen: Chosen, inside: Steps) -> float:
    """The size of the largest score, by which scores are coloured.

    Padding may have scores far beyond those of words, whose colours it would wash out.
    """
    n_queries, n_keys = chosen.lengths
    return max(float(np.abs(inside.scores[:n_queries, :n_keys]).max()), 1e-6)


def preset_allowed(preset: Preset, chosen: Chosen, settings: Mapping[str, Any]) -> BoolArray:
    """A preset on the padded axes; padding stays forbidden unless the preset is about it."""
    own = chosen.own
    known = {
        **settings,
        "lengths": sentence_lengths(own.queries),
        "key_lengths": sentence_lengths(own.keys),
    }
    allowed = preset(
        len(own.queries), len(own.keys), **{name: known[name] for name in preset.settings}
    ).numpy()
    if preset.over_padding:
        return np.asarray(allowed, dtype=np.bool_)
    no_padding = np.array([token != PADDING for token in own.keys], dtype=np.bool_)
    return np.asarray(allowed & no_padding, dtype=np.bool_)


def show_translations(
    chosen: Chosen,
    one: jobs.Outcome,
    other: jobs.Outcome,
    names: tuple[str, str],
    pictures: Sequence[Picture] = (),
) -> None:
    """What the model writes on its own under two sets of masks.

    Beside the heading stands what saves `pictures`, those that end above it.
    """
    before, after = one.free.text, other.free.text
    same = "stays the same" if before == after else "changes"
    with st.container(horizontal=True, vertical_alignment="center", key="captioned-translations"):
        st.subheader(f"Written word by word, the translation {same}", anchor=False)
        save_button(pictures, "translations")
    st.html(translations_html(before, after, names, dark=is_dark()))


def show_probabilities(picture: LogProbs) -> None:
    """How probable the given words are under two sets of masks."""
    (_, before), (_, after) = picture.sides
    changed = (
        "stay as probable" if np.array_equal(before, after) else "become more or less probable"
    )
    st.subheader(f"Under teacher forcing, the given words {changed}", anchor=False)
    show_picture(picture, picture.name)
    is_decoder = picture.at.kind is AttentionKind.DECODER
    show_caption(f"{HONESTY} {AHEAD}" if is_decoder else HONESTY)
