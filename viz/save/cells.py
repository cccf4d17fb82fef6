"""The Python of a picture: lines for a notebook that make the same figure, the last of them it.

Every text of a person is written as a literal of Python's, so it stays data and becomes no code.
Functions give the lines without the model they run on, which `code` adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from model.trace import AttentionKind
from viz.heads.reading import Reading

Lines = list[str]


def code(
    lines: Sequence[str], *, checkpoint: str | None = None, snapshot: int | None = None
) -> str:
    """Lines as a cell for a notebook that was started in Headscope's folder.

    Args:
        lines: imports among them, which go first; the last one is the figure.
        checkpoint: the model's folder; None for lines that need no model.
        snapshot: which of its snapshots, counted from 0; None for the model as it was trained.
    """
    imports = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    of_step = "" if snapshot is None else f", snapshot={snapshot}"
    if checkpoint is not None:
        imports.insert(0, "from model import load")
        rest.insert(0, f"translator = load({checkpoint!r}{of_step})")
    heading = "# In a notebook that was started in Headscope's folder."
    return "\n".join([heading, *imports, "", *rest, ""])


def look(*, narrow: bool = False, slide: bool = False, dark: bool = False) -> str:
    """The end of a call that says how a figure looks, such as ", narrow=True"."""
    chosen = {"narrow": narrow, "slide": slide, "dark": dark}
    return "".join(f", {name}=True" for name, is_on in chosen.items() if is_on)


def recorded(sentence: str, target: str = "") -> str:
    """The line that records a sentence, with a translation of one's own if it is given."""
    given = f"{sentence!r}, {target!r}" if target else repr(sentence)
    return f"trace = translator.trace({given})"


def as_read(reading: Reading) -> tuple[str, str]:
    """The import that reading `trace` in a way needs, and the call."""
    chosen = [
        f"{each.name}={getattr(reading, each.name)}"
        for each in fields(reading)
        if getattr(reading, each.name) != each.default
    ]
    if not chosen:
        return "from viz.heads.reading import read", "read(trace)"
    return (
        "from viz.heads.reading import Reading, read",
        f"read(trace, Reading({', '.join(chosen)}))",
    )


# ---- masks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfBatch:
    """What the masks page looks at.

    Attributes:
        sentences: the batch.
        number: which of them, from 0.
        target: a translation of one's own for the first; empty for the model's.
        kind: which attention.
        layer: from 0.
        head: from 0.
    """

    sentences: tuple[str, ...]
    number: int
    target: str
    kind: AttentionKind
    layer: int
    head: int

    @property
    def lines(self) -> Lines:
        """Those that record the batch."""
        lines = [
            f"sentences = {list(self.sentences)!r}",
            "targets = [translator.translate(sentence) for sentence in sentences]",
        ]
        if self.target:
            lines.append(f"targets[0] = {self.target!r}")
        return [*lines, "padded = translator.trace_batch(sentences, targets).padded"]

    @property
    def site(self) -> str:
        """The call of the site looked at."""
        return f"attention({str(self.kind)!r}, {self.layer})"


def mask_panels(asked: OfBatch, panels: str, title: str, looks: str) -> Lines:
    """Panels of the model's own masks.

    Args:
        asked: the batch.
        panels: the function of viz.masks.panels that makes them.
        title: of the figure.
        looks: of `look`.
    """
    return [
        f"from viz.masks.panels import {panels}",
        "from viz.masks.mask import batch_masks",
        "from viz.draw.panel_figure import panels_figure",
        *asked.lines,
        f"panels = {panels}(batch_masks(padded, {asked.number}))",
        f"panels_figure(panels, title={title!r}{looks})",
    ]


def stage_panels(
    asked: OfBatch, title: str, looks: str, *, limit: float, longest: float, hatched: bool
) -> Lines:
    """What happens inside a head; arguments as in viz.masks.panels.stage_panels."""
    with_mask = f"stages(seen, {asked.head})"
    return [
        *([] if hatched else ["from numpy import ones_like"]),
        "from viz.masks.panels import stage_panels",
        "from viz.masks.steps import stages",
        "from viz.draw.panel_figure import panels_figure",
        *asked.lines,
        f"seen = padded[{asked.number}].{asked.site}",
        f"one = {with_mask}"
        if hatched
        else f"one = stages(seen, {asked.head}, ones_like({with_mask}.allowed))",
        f"panels = stage_panels(seen, one, limit={limit!r}, longest={longest!r}, "
        f"hatched={hatched})",
        f"panels_figure(panels, title={title!r}{looks})",
    ]


@dataclass(frozen=True, slots=True)
class OfMask:
    """A mask to compare, as Python.

    Attributes:
        number: of the sentence whose mask it is or begins from, from 0.
        name: of that mask, such as "decoder".
        preset: the name of the preset that makes it; empty for none.
        allowed: what mask_edits.encode wrote, of a preset or an edit; empty for the model's own.
    """

    number: int
    name: str
    preset: str = ""
    allowed: str = ""

    @property
    def expression(self) -> str:
        """The mask, where `own` gives those of a sentence by its number."""
        base = f"own({self.number})[{self.name!r}]"
        if self.preset:
            return f"preset(PRESETS[{self.preset!r}], decode({self.allowed!r}), {base})"
        if self.allowed:
            return f"edited_mask({base}, decode({self.allowed!r}))"
        return base


_OWN = [
    "def own(number):",
    "    return batch_masks(padded, number)",
    "def preset(rule, allowed, base):",
    "    how = {'kind': base.kind, 'reason': rule.reason, 'causal': rule.causal}",
    "    return preset_mask(rule.title, allowed, base.queries, base.keys, **how)",
]


def compared_masks(
    asked: OfBatch, masks: tuple[OfMask, OfMask], titles: tuple[str, str], title: str, looks: str
) -> Lines:
    """Two masks and where they differ."""
    return [
        "from viz.masks.panels import compared_panels",
        *_two_masks(asked, masks),
        "from viz.draw.panel_figure import panels_figure",
        f"panels_figure(compared_panels(a, b, {titles!r}), title={title!r}{looks})",
    ]


def compared_weights(asked: OfBatch, masks: tuple[OfMask, OfMask], title: str, looks: str) -> Lines:
    """One head's weights under two masks."""
    return [
        *_two_masks(asked, masks),
        *_two_passes(asked),
        *changed_weights(asked, ("Weights under A", "Weights under B"), title, looks),
    ]


def moved_heads(
    asked: OfBatch,
    masks: tuple[OfMask, OfMask],
    lengths: tuple[int, int],
    title: str,
    looks: str,
) -> Lines:
    """How much every head moved between two masks; `lengths` as viz.masks.panels.moved_heads."""
    return [
        "from viz.masks.panels import moved_heads, moved_panel",
        "from viz.draw.panel_figure import panels_figure",
        *_two_masks(asked, masks),
        *_two_passes(asked),
        f"panel = moved_panel(moved_heads(*passes, {lengths!r}))",
        f"panels_figure([panel], title={title!r}{looks})",
    ]


def compared_log_probs(
    asked: OfBatch, masks: tuple[OfMask, OfMask], n_target: int, looks: str
) -> Lines:
    """How probable the target is under two masks."""
    return [
        *_two_masks(asked, masks),
        *_two_passes(asked),
        *_log_probs(n_target, ("A", "B"), looks),
    ]


def _two_masks(asked: OfBatch, masks: tuple[OfMask, OfMask]) -> Lines:
    a, b = (mask.expression for mask in masks)
    return [
        "from model.mask_presets import PRESETS",
        "from viz.masks.edits import decode",
        "from viz.masks.mask import batch_masks, edited_mask, preset_mask",
        *asked.lines,
        *_OWN,
        f"a, b = {a}, {b}",
    ]


def _two_passes(asked: OfBatch) -> Lines:
    kind = str(asked.kind)
    return _passes(asked, f"Intervention(masks={{{kind!r}: mask.allowed}}) for mask in (a, b)")


def _passes(asked: OfBatch, under: str) -> Lines:
    """One pass over the batch for each intervention in the sentence that is looked at."""
    return [
        "from model import Intervention",
        "passes = []",
        f"for under in ({under}):",
        "    each = [Intervention()] * len(sentences)",
        f"    each[{asked.number}] = under",
        "    passes.append(translator.trace_batch(sentences, targets, under=each)"
        f".padded[{asked.number}])",
    ]


def changed_weights(
    asked: OfBatch,
    titles: tuple[str, str],
    title: str,
    looks: str,
    *,
    begin: str = "",
    sign: str = "",
) -> Lines:
    """One head's weights in two `passes` and how they differ.

    Args:
        asked: the batch.
        titles: of the two.
        title: of the figure.
        looks: of `look`.
        begin: an expression of panels to stand before them.
        sign: stands before the second title.
    """
    before = f"{begin} + " if begin else ""
    signed = f", sign={sign!r}" if sign else ""
    return [
        "from viz.masks.panels import changed_panels",
        "from viz.draw.panel_figure import panels_figure",
        f"maps = [each.{asked.site} for each in passes]",
        f"panels = {before}changed_panels(*maps, {asked.head}, {titles!r}{signed})",
        f"panels_figure(panels, title={title!r}{looks})",
    ]


def edited_weights(asked: OfBatch, allowed: str, edits: str, title: str, looks: str) -> Lines:
    """A painted mask, and one head's weights before and after the edits.

    Args:
        asked: the batch.
        allowed: the mask shown, as mask_edits.encode wrote it.
        edits: all of them, as mask_edits.write wrote them.
        title: of the figure.
        looks: of `look`.
    """
    return [
        "from viz.masks.edits import decode, intervention, parse",
        "from viz.masks.panels import editor_panel",
        "from viz.masks.mask import batch_masks",
        *asked.lines,
        f"own = batch_masks(padded, {asked.number})[{str(asked.kind)!r}]",
        f"painted = editor_panel(own, decode({allowed!r}), 'The mask')",
        *_passes(asked, f"Intervention(), intervention(parse({edits!r}))"),
        *changed_weights(
            asked,
            ("Weights before", "Weights after"),
            title,
            looks,
            begin="[painted]",
            sign="→",
        ),
    ]


def edited_log_probs(asked: OfBatch, edits: str, n_target: int, looks: str) -> Lines:
    """How probable the target is before and after edits of masks."""
    return [
        "from viz.masks.edits import intervention, parse",
        *asked.lines,
        *_passes(asked, f"Intervention(), intervention(parse({edits!r}))"),
        *_log_probs(n_target, ("Before", "After"), looks),
    ]


def _log_probs(n_target: int, names: tuple[str, str], looks: str) -> Lines:
    return [
        "from viz.masks.log_probs import log_prob_bars",
        f"n = {n_target}",
        "sides = [(each.predictions[:n], each.log_probs[:n]) for each in passes]",
        f"log_prob_bars(*sides[0], *sides[1], {names!r}{looks})",
    ]


# ---- positions -----------------------------------------------------------------------------------

TRAINED_TABLE = "table = translator.position_table(translator.trained_positions())"
"""Without the rows of a learned table that training never reached, where that is known."""


def table(length: int, looks: str, *, sentence: str = "") -> Lines:
    """The model's table of so many positions, named by the tokens of a sentence if it is given."""
    tokens = f"translator.embedding_parts({sentence!r}).tokens" if sentence else "None"
    return [
        "from viz.positions.encoding import encoding_heatmap",
        f"tokens = {tokens}",
        f"table = translator.position_table({length})",
        f"encoding_heatmap(table, tokens=tokens, trained=translator.trained_positions(){looks})",
    ]


def waves(
    length: int,
    dimensions: Sequence[int],
    base: float | None,
    looks: str,
    *,
    position: int | None = None,
) -> Lines:
    """Dimensions of the model's table over position, one position marked if it is given."""
    marked = "" if position is None else f", position={position}"
    return [
        "from viz.positions.encoding import waves",
        f"table = translator.position_table({length})",
        f"waves(table, {list(dimensions)}, base={base!r}{marked}{looks})",
    ]


def circle(pair: int, position: int, base: float | None, looks: str) -> Lines:
    """A pair of dimensions as points."""
    return [
        "from viz.positions.encoding import circle",
        TRAINED_TABLE,
        f"circle(table, {pair}, {position}, base={base!r}{looks})",
    ]


def likeness(cosine: bool, looks: str) -> Lines:
    """How alike every two positions are."""
    return [
        "from viz.positions.encoding import likeness_heatmap",
        TRAINED_TABLE,
        f"likeness_heatmap(table, cosine={cosine}{looks})",
    ]


def offsets(cosine: bool, looks: str) -> Lines:
    """The same by how far apart they stand."""
    return [
        "from viz.positions.encoding import by_offset_figure",
        TRAINED_TABLE,
        f"by_offset_figure(table, cosine={cosine}{looks})",
    ]


def parts(sentence: str, looks: str) -> Lines:
    """Word, scaled word, position and their sum."""
    return [
        "from viz.positions.terms import parts_figure",
        f"parts_figure(translator.embedding_parts({sentence!r}){looks})",
    ]


def terms(sentence: str, looks: str) -> Lines:
    """What the scores of the encoder's first layer come from."""
    return [
        "from viz.positions.terms import term_shares, terms_figure",
        f"terms_figure(term_shares(translator.score_terms({sentence!r}).terms){looks})",
    ]


def neighbours(sentence: str, edit: str, looks: str) -> Lines:
    """Heads that look at neighbours, before and after an edit of positions.

    Args:
        sentence: the source.
        edit: a PositionEdit as Python.
        looks: of `look`.
    """
    return [
        "from model.intervention import Intervention, PositionEdit",
        "from viz.positions.terms import neighbour_heads, neighbours_figure",
        f"translation = translator.translate({sentence!r})",
        "before = translator.trace_of(translation)",
        f"after = translator.trace_of(translation, under=Intervention(positions={edit}))",
        f"neighbours_figure(neighbour_heads(before, after){looks})",
    ]


def distances(sentence: str, order: Sequence[int], looks: str) -> Lines:
    """How far the encoder's rows moved when the source's tokens were put in another order."""
    return [
        "from numpy.linalg import norm",
        "from model.intervention import Intervention, PositionEdit",
        "from viz.positions.shuffle import distances_figure, reordered",
        f"sentence, order = {sentence!r}, {list(order)}",
        "place = [*order, len(order)]",
        "distances = {}",
        "for name, scale in {'with positions': 1, 'without positions': 0}.items():",
        "    edit = PositionEdit(scale=scale)",
        "    before = translator.encode(sentence, under=Intervention(positions=edit))",
        "    moved = Intervention(positions=edit, source_order=order)",
        "    after = translator.encode(sentence, under=moved)",
        "    distances[name] = norm(after - before[place], axis=-1)",
        "tokens = reordered(translator.translate(sentence).source, place)",
        f"distances_figure(tokens, distances{looks})",
    ]


def formula(d_model: int, length: int, base: float, looks: str) -> Lines:
    """The formula's table, whatever the model."""
    return [
        "from viz.positions.encoding import FORMULA_TITLE, encoding_heatmap, formula_table",
        f"table = formula_table({d_model}, {length}, {base!r})",
        f"encoding_heatmap(table, title=FORMULA_TITLE{looks})",
    ]


def formula_waves(
    d_model: int, length: int, dimensions: Sequence[int], base: float, looks: str
) -> Lines:
    """Dimensions of the formula's table over position."""
    return [
        "from viz.positions.encoding import formula_table, waves",
        f"table = formula_table({d_model}, {length}, {base!r})",
        f"waves(table, {list(dimensions)}, base={base!r}{looks})",
    ]


# ---- heads ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfTrace:
    """What the heads page looks at: a sentence, a target of one's own or "", and the reading."""

    sentence: str
    target: str
    reading: Reading

    @property
    def lines(self) -> Lines:
        """Those that put the trace as it is read into `seen`."""
        needed, call = as_read(self.reading)
        return [needed, recorded(self.sentence, self.target), f"seen = {call}"]


def compared_heads(
    asked: OfTrace, attention: str, heads: Sequence[tuple[int, int]], title: str, looks: str
) -> Lines:
    """Several heads of one kind of attention side by side; layer and head of each."""
    return [
        "from viz.heads.panels import compared_panels",
        "from viz.draw.panel_figure import panels_figure",
        *asked.lines,
        f"panels_figure(compared_panels(seen, {attention!r}, {list(heads)}), "
        f"title={title!r}{looks})",
    ]


def lines(
    asked: OfTrace, attention: str, layer: int, head: int, query_title: str, looks: str
) -> Lines:
    """One head as lines between words."""
    return [
        "from viz.save.export import site_map",
        "from viz.heads.lines import lines_figure",
        *asked.lines,
        f"found = site_map(seen, {attention!r}, {layer})",
        f"lines_figure(found, {head}, query_title={query_title!r}{looks})",
    ]


def joint(asked: OfTrace, layer: int, head: int, looks: str) -> Lines:
    """One head number of all three kinds in one square."""
    return [
        "from viz.heads.panels import joint_panel",
        "from viz.draw.panel_figure import panel_figure",
        *asked.lines,
        f"panel_figure(joint_panel(seen, {layer}, {head}){looks})",
    ]
