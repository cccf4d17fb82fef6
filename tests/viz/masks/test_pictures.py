"""The pictures of masks: their Python makes them again, their numbers are exact."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from model.record.intervention import Intervention
from model.record.mask_presets import PRESETS
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, FloatArray, Tokens
from model.trace.trace import Trace
from model.trace.translation import Translation
from model.translate.tracing import BatchTrace
from model.translate.translator import Translator
from tests.kit.pictures import LAYOUTS, require_files, require_same, values
from viz.links.mask_edits import Edit, intervention
from viz.masks.batch_masks import batch_masks
from viz.masks.compared import (
    ComparedMasks,
    ComparedWeights,
    MovedHeads,
    NamedMask,
    TwoMasks,
    moved_heads,
)
from viz.masks.head_in_batch import HeadInBatch
from viz.masks.head_steps import HeadSteps, RowLesson
from viz.masks.log_probs import LogProbs
from viz.masks.mask import Mask
from viz.masks.own_masks import (
    AttentionMasks,
    BatchTokens,
    DecoderFactors,
    OneMask,
    PaddingRows,
)
from viz.masks.painted import EditedWeights, Edits
from viz.masks.preset_masks import edited_mask, preset_mask
from viz.masks.steps import fill_lesson, head_steps

SENTENCE = "The cat sat on the mat."
FURTHER = "A dog '); sleeps.\\"
TARGET = "Die Katze."
AT = HeadInBatch((SENTENCE, FURTHER), 0, "", AttentionKind.DECODER, 1, 2)


@dataclass(frozen=True, eq=False)
class Batch:
    """What is looked at, and what the model does with it."""

    model: Translator
    at: HeadInBatch

    @cached_property
    def targets(self) -> list[str | Translation]:
        own = [self.model.translate(sentence) for sentence in self.at.sentences]
        return [self.at.target or own[0], *own[1:]]

    @cached_property
    def recorded(self) -> BatchTrace:
        return self.model.trace_batch(self.at.sentences, self.targets)

    def passed(self, edits: tuple[Edit, ...]) -> Trace:
        under = [Intervention()] * len(self.targets)
        under[0] = intervention(edits)
        return self.model.trace_batch(self.at.sentences, self.targets, under=under).padded[0]

    @property
    def masks(self) -> dict[str, Mask]:
        return batch_masks(self.recorded.padded, 0)

    @property
    def own(self) -> Mask:
        return self.masks[str(self.at.kind)]

    @property
    def lengths(self) -> tuple[int, int]:
        return self.recorded.source_lengths[0], self.recorded.target_lengths[0]

    def site(self, trace: Trace) -> AttentionMap:
        return trace.attention(self.at.kind, self.at.layer)

    def side(self, trace: Trace) -> tuple[Tokens, FloatArray]:
        assert trace.log_probs is not None
        n_target = self.lengths[1]
        return trace.predictions[:n_target], trace.log_probs[:n_target]

    def closed(self) -> BoolArray:
        """The own mask with one cell more forbidden and a row without any key."""
        allowed = self.own.allowed.copy()
        allowed[3, 1] = False
        allowed[2] = False
        return allowed

    def named(self, name: str, title: str) -> NamedMask:
        """A mask by its name in the address, as the page makes it."""
        start, _, rest = name.partition(".")
        if start == "preset":
            preset = PRESETS[rest]
            queries, keys = self.own.queries, self.own.keys
            allowed = preset(len(queries), len(keys), width=2).numpy()
            mask = preset_mask(
                preset.title,
                allowed,
                queries,
                keys,
                kind=self.at.kind,
                reason=preset.reason,
                causal=preset.causal,
            )
        elif start == "edited":
            mask = edited_mask(self.masks[rest], self.closed())
        else:
            mask = batch_masks(self.recorded.padded, int(start) - 1)[rest]
        return NamedMask(name, title, mask)


@pytest.fixture(scope="module")
def batch(translator: Translator) -> Batch:
    return Batch(translator, AT)


def test_the_masks_of_a_batch_come_back(translator: Translator, folder: Path) -> None:
    batch = Batch(translator, replace(AT, target=TARGET))
    factors = DecoderFactors(batch.at, batch.masks)
    require_same(factors, folder)
    np.testing.assert_array_equal(values(factors, "decoder_allowed"), batch.own.allowed)
    own = AttentionMasks(batch.at, batch.masks)
    require_same(own, folder)
    assert [each.title for each in own.panels] == ["Encoder", "Decoder", "Cross-attention"]
    place, query, key = own.example
    assert own.panels[place].names[own.panels[place].values[query, key]] == "later word"
    rows = PaddingRows(batch.at, batch.masks)
    require_same(rows, folder)
    assert [each.title for each in rows.panels] == ["Source padding", "Target padding"]
    grid = BatchTokens(batch.at, batch.recorded.padded)
    require_files(grid)
    assert values(grid, "source_is_padding").shape == values(grid, "source_token").shape
    assert values(grid, "source_is_padding").any()
    assert grid.formats == ["csv", "json", "npz"]
    assert factors.texts["batch"] == f"{SENTENCE}\n{FURTHER}"
    for picture in (factors, own, rows, grid):
        assert picture.name.replace("-", "").isalnum()
        assert picture.name.isascii()


@pytest.mark.parametrize("hatched", [True, False])
def test_the_steps_of_a_head_come_back(batch: Batch, folder: Path, hatched: bool) -> None:
    seen = batch.site(batch.passed(()))
    steps = head_steps(seen, batch.at.head)
    if not hatched:
        steps = head_steps(seen, batch.at.head, np.ones_like(steps.allowed))
    picture = HeadSteps(batch.at, seen, steps, 2.5, 1.25, hatched)
    require_same(picture, folder)
    assert seen.scores is not None
    np.testing.assert_array_equal(values(picture, "score"), seen.scores[2])
    np.testing.assert_array_equal(np.isnan(values(picture, "masked_score")), ~steps.allowed)
    lesson = fill_lesson(steps.scores[0], np.zeros(len(seen.keys), dtype=np.bool_))
    table = RowLesson(batch.at, lesson, seen.keys)
    require_files(table)
    np.testing.assert_array_equal(values(table, "this_model"), lesson.model)


@pytest.mark.parametrize(
    "names", [("1.decoder", "preset.window"), ("edited.decoder", "2.decoder"), ("1.causal",) * 2]
)
def test_compared_masks_and_what_they_do_come_back(
    batch: Batch, folder: Path, names: tuple[str, str]
) -> None:
    both = TwoMasks(batch.named(names[0], "“one”"), batch.named(names[1], "other\\"))
    compared = ComparedMasks(batch.at, both)
    require_same(compared, folder)
    one, other = (batch.passed((Edit(batch.at.kind, None, mask.allowed),)) for mask in both.masks)
    weights = ComparedWeights(batch.at, both, (batch.site(one), batch.site(other)))
    require_same(weights, folder, LAYOUTS[:1])
    np.testing.assert_array_equal(values(weights, "weight_under_b"), batch.site(other).weights[2])
    moved = moved_heads(one, other, batch.lengths)
    require_same(MovedHeads(batch.at, both, moved), folder, LAYOUTS[:1])
    probable = LogProbs(batch.at, both, (batch.side(one), batch.side(other)))
    require_same(probable, folder, LAYOUTS[:2])
    np.testing.assert_array_equal(values(probable, "log_probability_a"), batch.side(one)[1])
    for picture in (compared, weights, probable):
        assert picture.texts["mask_a"] == "A: “one”"


def test_masks_of_different_sizes_are_drawn_without_a_difference(
    batch: Batch, folder: Path
) -> None:
    both = TwoMasks(batch.named("1.decoder", "one"), batch.named("1.encoder", "other"))
    picture = ComparedMasks(batch.at, both)
    require_same(picture, folder, LAYOUTS[:1])
    assert values(picture, "b_allowed").shape == both.b.mask.cells.shape


@pytest.mark.parametrize("layers", [None, (1,)])
def test_a_painted_mask_and_what_it_does_come_back(
    batch: Batch, folder: Path, layers: tuple[int, ...] | None
) -> None:
    edit = Edit(batch.at.kind, layers, batch.closed())
    before, after = batch.passed(()), batch.passed((edit,))
    maps = batch.site(before), batch.site(after)
    picture = EditedWeights(batch.at, Edits((edit,)), batch.own, batch.closed(), maps)
    require_same(picture, folder, LAYOUTS[:1])
    np.testing.assert_array_equal(values(picture, "weight_after"), maps[1].weights[2])
    np.testing.assert_array_equal(values(picture, "allowed_after"), batch.closed())
    probable = LogProbs(batch.at, Edits((edit,)), (batch.side(before), batch.side(after)))
    require_same(probable, folder, LAYOUTS[:1])
    assert picture.texts["edited"] == str(edit)
    assert picture.texts["edit"].startswith("decoder:")
    untouched = EditedWeights(batch.at, Edits(()), batch.own, batch.own.allowed, (maps[0], maps[0]))
    require_same(untouched, folder, LAYOUTS[:1])
    assert untouched.texts["edited"] == "none"


def test_log_probabilities_say_whose_target_they_are_of(batch: Batch) -> None:
    side = batch.side(batch.passed(()))
    for at, given in (
        (batch.at, "the model's own translation"),
        (replace(batch.at, target=TARGET), "the target you typed"),
        (replace(batch.at, target=TARGET, number=1), "the model's own translation"),
    ):
        caption = LogProbs(at, Edits(()), (side, side)).caption
        assert f"reads {given}" in caption
        assert caption.startswith(f"Sentence {at.number + 1}, “{at.sentences[at.number]}”: ")


@pytest.mark.parametrize("target", ["", TARGET])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_mask_of_one_layer_comes_back(
    translator: Translator, folder: Path, kind: str, target: str
) -> None:
    mask = batch_masks([translator.trace(SENTENCE, target or None)], 0, layer=1)[kind]
    picture = OneMask(mask, 1, SENTENCE, target)
    require_same(picture, folder, LAYOUTS[:2])
    np.testing.assert_array_equal(values(picture, "allowed"), mask.allowed)
    np.testing.assert_array_equal(values(picture, "reason"), mask.names)
