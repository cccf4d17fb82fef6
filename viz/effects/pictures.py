"""The pictures of the effects page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.ablation_results import Effects, ExamplesRemoval, Removal
from model.explain.alignment_table import AlignmentTable
from model.explain.attribution import Agreements, Attributions, SelfAttributions
from model.trace.attention_map import AttentionKind, FloatArray, Site
from viz.draw.labels import axis_texts
from viz.draw.word_diff import word_diff
from viz.effects import (
    alignment_map,
    effect_map,
    estimate_vs_deletion,
    ranking,
    removal_curve,
    self_maps,
)
from viz.effects.view import MAPS
from viz.links.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines, recorded
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

Heads = Sequence[tuple[Site, int]]


@dataclass(frozen=True, slots=True, eq=False)
class EffectMap(Picture):
    """What a translation, or one of its tokens, loses without each head.

    Attributes:
        effects: of the translation.
        token: the target token, from 0; None for the whole translation.
        target: a translation of one's own; empty for the model's.
        numbered: whether cells hold their numbers.
        off: heads that bear a cross.
    """

    slug: ClassVar[str] = "effects"
    about: ClassVar[str] = (
        "what the translation loses without each head, or one of its tokens: --token"
    )

    effects: Effects
    token: int | None = None
    target: str = ""
    numbered: bool = True
    off: Heads = ()

    name = "effects"

    @classmethod
    def of(cls, request: Request) -> EffectMap:
        return cls(request.effects, request.token, request.target)

    @property
    def title(self) -> str:
        return effect_map.effect_title(self.effects, self.token)

    @property
    def alt(self) -> str:
        return effect_map.effect_alt_text(self.effects.of(self.token), self.title)

    @property
    def caption(self) -> str:
        return effect_map.effect_caption(self.token, self.off)

    def figure(self, layout: Layout) -> go.Figure:
        return effect_map.effect_figure(
            self.effects.of(self.token),
            self.title,
            off=self.off,
            numbered=self.numbered,
            **layout.options,
        )

    def numbers(self) -> Numbers:
        columns, losses = _by_head(self.effects.losses)
        return Numbers(
            {},
            {"site_head": range(len(losses)), "target": self.effects.predictions},
            {
                **{name: (("site_head",), values) for name, values in columns.items()},
                "loss": (("site_head", "target"), losses),
                "log_prob": (("target",), self.effects.log_probs),
            },
        )

    def python(self, layout: Layout) -> Lines:
        given = f", {self.target!r}" if self.target else ""
        options = "" if self.numbered else ", numbered=False"
        off = _off_python(self.off)
        return [
            f"found = hs.effects(translator, {self.effects.source_text!r}{given})",
            f"token = {self.token!r}",
            "title = hs.figures.effect_title(found, token)",
            f"hs.figures.effect_figure(found.of(token), title{off}{options}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class WordMap(Picture):
    """How many words of the model's own translation each head changes when it is removed.

    Attributes:
        sentence: the source.
        before: its translation with all heads.
        after: without each head, by site.
        off: heads that bear a cross.
        numbered: whether cells hold their numbers.
    """

    sentence: str
    before: str
    after: Mapping[Site, tuple[str, ...]]
    off: Heads = ()
    numbered: bool = True

    title = "How many words each head changes"
    name = "effects-words"

    @property
    def changed(self) -> dict[Site, NDArray[np.float64]]:
        """How many words, by site, (head,)."""
        return {
            site: np.array([changed_words(self.before, text) for text in texts], np.float64)
            for site, texts in self.after.items()
        }

    @property
    def alt(self) -> str:
        return effect_map.effect_alt_text(self.changed, self.title, effect_map.CHANGED)

    @property
    def caption(self) -> str:
        return effect_map.changed_caption(self.off)

    def figure(self, layout: Layout) -> go.Figure:
        return effect_map.effect_figure(
            self.changed,
            self.title,
            effect_map.CHANGED,
            off=self.off,
            numbered=self.numbered,
            **layout.options,
        )

    def numbers(self) -> Numbers:
        columns, changed = _by_head(self.changed)
        texts = np.array([text for each in self.after.values() for text in each], np.str_)
        arrays = {**columns, "words_changed": changed, "translation": texts}
        return Numbers(
            {},
            {"site_head": range(len(changed))},
            {name: (("site_head",), values) for name, values in arrays.items()},
        )

    def python(self, layout: Layout) -> Lines:
        options = "" if self.numbered else ", numbered=False"
        off = _off_python(self.off)
        return [
            f"sentence = {self.sentence!r}",
            "after = {",
            "    site: tuple(each.text for each in hs.figures.rewritten(translator, "
            "sentence, site))",
            "    for site in translator.sites",
            "}",
            "picture = hs.figures.WordMap(sentence, translator.translate(sentence).text, after)",
            "changed, title = picture.changed, picture.title",
            "hs.figures.effect_figure(changed, title, "
            f"{effect_map.CHANGED!r}{off}{options}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RemovalCurve(Picture):
    """What is left of a translation while heads are removed one after another.

    Attributes:
        removal: of the translation.
        sentence: the source.
        target: a translation of one's own; empty for the model's.
    """

    slug: ClassVar[str] = "removal"
    about: ClassVar[str] = "what is left of the translation while heads are removed"

    removal: Removal
    sentence: str
    target: str = ""

    @classmethod
    def of(cls, request: Request) -> RemovalCurve:
        return cls(request.removal, request.text, request.target)

    title = removal_curve.TITLE
    name = "effects-removal"

    @property
    def alt(self) -> str:
        return removal_curve.removal_alt_text(self.removal)

    @property
    def caption(self) -> str:
        return removal_curve.removal_caption(self.removal)

    def figure(self, layout: Layout) -> go.Figure:
        return removal_curve.removal_figure(self.removal, **layout.options)

    def numbers(self) -> Numbers:
        return _removal_numbers(self.removal)

    def python(self, layout: Layout) -> Lines:
        given = f", {self.target!r}" if self.target else ""
        return [
            f"trace = translator.trace({self.sentence!r}{given})",
            "removed = hs.figures.removal(translator, trace, hs.figures.effects_of("
            "translator, trace))",
            f"hs.figures.removal_figure(removed{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _OfMaps(Picture):
    """What maps of cross-attention say of one sentence, beside the truth.

    Attributes:
        found: the maps.
        sentence: the source.
        target: a translation of one's own; empty for the model's.
        site: of cross-attention; None for the whole model.
        head: None for all heads together.
        later: whether the layer is read one row later.
        token: a target token, from 0; None for all.
    """

    found: Attributions
    sentence: str
    target: str = ""
    site: Site | None = None
    head: int | None = None
    later: bool = False
    token: int | None = None

    @classmethod
    def _asked(cls, request: Request) -> dict[str, Any]:
        """What the command line asks for, as the arguments of a picture."""
        asked = request.arguments
        if asked.head is not None and asked.layer is None:
            raise ExportError("A head needs its layer: add --layer, or leave --head out.")
        site = None if asked.layer is None else Site(AttentionKind.CROSS, asked.layer)
        return {
            "found": request.attributions,
            "sentence": request.text,
            "target": request.target,
            "site": site,
            "head": asked.head,
            "later": site is not None and request.read_later.get(site.layer, False),
            "token": request.token,
        }

    @property
    def _attributed(self) -> Lines:
        """The lines that make the maps."""
        named = f"hs.Site(hs.AttentionKind.CROSS, {self.site.layer})" if self.site else None
        return [
            recorded(self.sentence, self.target),
            "found = hs.figures.cross_attributions(translator, trace)",
            f"site, head, later = {named}, {self.head}, {self.later}",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class MapBesideTruth(_OfMaps):
    """The truth, and beside it what one method makes of it.

    Attributes:
        method: a name in `model.explain.attribution.METHODS`.
        alone: whether its map stands alone, with the rings of the truth.
    """

    slug: ClassVar[str] = "maps"
    about: ClassVar[str] = (
        "what a target token loses without each source token, beside what --method makes of it; of "
        "the whole model, or of the cross-attention of --layer, and of it one --head; --token "
        "frames one; with --attention encoder or decoder, a map of --layer beside its weights"
    )

    method: str = "weights"
    alone: bool = False

    name = "effects-maps"

    @classmethod
    def of(cls, request: Request) -> Picture:
        asked = request.arguments
        if AttentionKind(asked.attention) is AttentionKind.CROSS:
            return cls(**cls._asked(request), method=asked.method)
        if asked.layer is None:
            raise ExportError("A map of self-attention is of one layer: add --layer.")
        found = request.self_attributions
        return SelfMap(found, request.text, request.target, asked.head, request.token, asked.method)

    @property
    def title(self) -> str:
        return estimate_vs_deletion.beside_title(self.method, self.site, self.head)

    @property
    def alt(self) -> str:
        return estimate_vs_deletion.beside_alt_text(
            self.found, self.method, self.site, self.head, self.later
        )

    @property
    def caption(self) -> str:
        by_prediction = self.found.map(self.method, self.site).by_prediction
        return estimate_vs_deletion.beside_caption(
            self.method, self.site, self.later and not by_prediction
        )

    @property
    def token_sentence(self) -> str:
        """What both maps say of the target token, in plain text; "" without one."""
        if self.token is None:
            return ""
        return estimate_vs_deletion.token_sentence(
            self.found, self.method, self.site, self.head, self.later, self.token
        )

    def figure(self, layout: Layout) -> go.Figure:
        return estimate_vs_deletion.beside_figure(
            self.found,
            self.method,
            self.site,
            self.head,
            later=self.later,
            token=self.token,
            alone=self.alone,
            **layout.options,
        )

    def numbers(self) -> Numbers:
        found, cells = self.found, ("target", "source")
        estimate = found.estimate(self.method, self.site, self.head, later=self.later)
        return Numbers(
            {"method": self.method, "part": estimate_vs_deletion.part_name(self.site, self.head)},
            {"target": found.predictions, "source": found.source},
            {"deletion_loss": (cells, found.deletion_losses), "estimate": (cells, estimate)},
        )

    def python(self, layout: Layout) -> Lines:
        more = "" if self.token is None else f", token={self.token}"
        more += ", alone=True" if self.alone else ""
        return [
            *self._attributed,
            f"hs.figures.beside_figure(found, {self.method!r}, site, head, "
            f"later=later{more}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class SelfMap(Picture):
    """What one method makes of a site of self-attention, beside its weights.

    Attributes:
        found: the maps.
        sentence: the source.
        target: a translation of one's own; empty for the model's.
        head: None for all heads together.
        token: the target token whose row of the decoder is framed, from 0; None for none.
        method: a name in `model.explain.attribution.METHODS`.
        alone: whether its map stands alone.
    """

    found: SelfAttributions
    sentence: str
    target: str = ""
    head: int | None = None
    token: int | None = None
    method: str = "weights"
    alone: bool = False

    name = "effects-self-maps"

    @property
    def title(self) -> str:
        return self_maps.self_title(self.method, self.found.site, self.head, alone=self.alone)

    @property
    def alt(self) -> str:
        return self_maps.self_alt_text(self.found, self.method, self.head)

    @property
    def caption(self) -> str:
        return self_maps.self_caption(self.found, self.method, self.head)

    @property
    def row(self) -> int | None:
        """The row that predicts the target token; rows of the encoder predict nothing."""
        return self.token if self.found.site.kind is AttentionKind.DECODER else None

    def figure(self, layout: Layout) -> go.Figure:
        return self_maps.self_figure(
            self.found, self.method, self.head, row=self.row, alone=self.alone, **layout.options
        )

    def numbers(self) -> Numbers:
        found, cells = self.found, ("query", "key")
        part = estimate_vs_deletion.part_name(found.site, self.head)
        return Numbers(
            {"method": self.method, "attention": str(found.site.kind), "part": part},
            {"query": found.tokens, "key": found.tokens},
            {
                name: (cells, found.map(method).of(self.head))
                for name, method in (("weight", self_maps.PLAIN), ("estimate", self.method))
            },
        )

    def python(self, layout: Layout) -> Lines:
        site = self.found.site
        more = "" if self.row is None else f", row={self.row}"
        more += ", alone=True" if self.alone else ""
        of = "" if self.found.token is None else f", token={self.found.token}"
        return [
            recorded(self.sentence, self.target),
            f"site = hs.Site(hs.AttentionKind.{site.kind.name}, {site.layer})",
            f"found = hs.figures.self_attributions(translator, trace, site{of})",
            f"hs.figures.self_figure(found, {self.method!r}, {self.head}{more}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class MapRanking(_OfMaps):
    """How well every method agrees with the truth.

    Attributes:
        marked: a method that stands out; empty for none.
        pairs: further sentences with their translations, for a mean over them.
        examples: how well every method agrees with the truth in these.
    """

    slug: ClassVar[str] = "ranking"
    about: ClassVar[str] = (
        "how well every method of maps agrees with the truth; --layer, --head, --token as there"
    )

    marked: str = ""
    pairs: Sequence[tuple[str, str]] = ()
    examples: Sequence[Agreements] = ()

    name = "effects-ranking"

    @classmethod
    def of(cls, request: Request) -> MapRanking:
        kind = AttentionKind(request.arguments.attention)
        if kind is not AttentionKind.CROSS:
            raise ExportError(self_maps.no_truth(kind))
        return cls(**cls._asked(request))

    @property
    def title(self) -> str:
        return ranking.ranking_title(self.site, self.head)

    @property
    def scores(self) -> list[ranking.Score]:
        """Those shown."""
        return ranking.scores(
            self.found,
            self.site,
            self.head,
            later=self.later,
            token=self.token,
            examples=self.examples,
        )

    @property
    def alt(self) -> str:
        return ranking.ranking_alt_text(self.scores, self.title)

    @property
    def caption(self) -> str:
        later = self.later and self.site is not None
        return ranking.ranking_caption(self.token, later=later)

    @property
    def brief(self) -> str:
        """The same in a few words, for the foot of a stage."""
        return ranking.brief_sentence(self.scores)

    @property
    def sentences(self) -> list[str]:
        """Which map to believe, in plain text."""
        named = "" if self.token is None else axis_texts(self.found.predictions)[self.token]
        return ranking.ranking_sentences(self.scores, named)

    def figure(self, layout: Layout) -> go.Figure:
        return ranking.ranking_figure(
            self.scores,
            self.title,
            marked=self.marked,
            of_token=self.token is not None,
            **layout.options,
        )

    def numbers(self) -> Numbers:
        shown = self.scores
        columns: dict[str, Any] = {
            "method": np.array([each.method for each in shown], np.str_),
            "rank_correlation": np.array([each.correlation for each in shown], np.float64),
            "same_top": np.array([each.top for each in shown], np.float64),
        }
        for place, name in enumerate(("rank_correlation", "same_top")):
            for part in ("mean", "low", "high"):
                if self.examples:
                    columns[f"examples_{name}_{part}"] = np.array(
                        [getattr(each.examples[place], part) for each in shown if each.examples],
                        np.float64,
                    )
        return Numbers(
            {"part": estimate_vs_deletion.part_name(self.site, self.head)},
            {"place": range(len(shown))},
            {name: (("place",), values) for name, values in columns.items()},
        )

    def python(self, layout: Layout) -> Lines:
        more = "" if self.token is None else f", token={self.token}"
        lines = [
            *self._attributed,
        ]
        if self.examples:
            more += ", examples=examples"
            later = {self.site.layer: self.later} if self.site else {}
            lines += [
                f"pairs = {list(self.pairs)!r}",
                "traces = [translator.trace(*pair) for pair in pairs]",
                "examples = [",
                f"    hs.figures.cross_attributions(translator, each).agreements(later={later!r})",
                "    for each in traces",
                "]",
            ]
        marked = f", marked={self.marked!r}" if self.marked else ""
        marked += ", of_token=True" if self.token is not None else ""
        return [
            *lines,
            f"ranked = hs.figures.method_scores(found, site, head, later=later{more})",
            "hs.figures.ranking_figure(ranked, hs.figures.ranking_title(site, "
            f"head){marked}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ExamplesCurve(Picture):
    """What is left of the translations of a model's examples while heads are removed.

    Attributes:
        found: of the model.
        measure: "log_prob" or "chrf".
        checkpoint: the model's folder, as a notebook finds it.
    """

    slug: ClassVar[str] = "examples"
    about: ClassVar[str] = (
        "the same over the examples of a model that has it measured: --measure log_prob or chrf"
    )

    found: ExamplesRemoval
    measure: removal_curve.Measure
    checkpoint: str

    needs_model = False
    origin = ("model",)

    @classmethod
    def of(cls, request: Request) -> ExamplesCurve:
        found = request.examples_removal
        if found is None:
            raise ExportError(NO_CURVES)
        return cls(found, request.arguments.measure, request.folder)

    @property
    def removal(self) -> Removal:
        """The curves of this measure."""
        return self.found.chrf if self.measure == "chrf" else self.found.log_prob

    @property
    def value(self) -> str:
        """What is left, in sentence case."""
        return removal_curve.examples_value(self.measure)

    @property
    def title(self) -> str:
        return f"Examples: {effect_map.lower_first(self.value)}"

    @property
    def name(self) -> str:
        return f"effects-examples-{self.measure.replace('_', '-')}"

    @property
    def alt(self) -> str:
        return removal_curve.removal_alt_text(self.removal, self.title, self.value)

    @property
    def caption(self) -> str:
        return removal_curve.examples_caption(self.found, self.measure)

    def figure(self, layout: Layout) -> go.Figure:
        return removal_curve.removal_figure(self.removal, self.title, self.value, **layout.options)

    def numbers(self) -> Numbers:
        return _removal_numbers(self.removal)

    def python(self, layout: Layout) -> Lines:
        n_heads = self.removal.removed[-1]
        return [
            f"found = hs.figures.read_removal(hs.checkpoint_folder({self.checkpoint!r}), "
            f"{n_heads})",
            f"title, value = {self.title!r}, {self.value!r}",
            f"hs.figures.removal_figure(found.{self.measure}, title, value{layout.python})",
        ]


def _removal_numbers(removal: Removal) -> Numbers:
    return Numbers(
        {},
        {"heads_removed": removal.removed, "order": range(len(removal.at_random))},
        {
            "least_important_first": (("heads_removed",), removal.least_first),
            "at_random": (("order", "heads_removed"), removal.at_random),
        },
    )


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentMap(Picture):
    """How far every head of cross-attention is from alignments made by hand.

    Attributes:
        table: of the checkpoint.
        folder: the checkpoint's, as a notebook is to read it.
        numbered: whether cells hold their numbers.
    """

    slug: ClassVar[str] = "alignment"
    about: ClassVar[str] = (
        "alignment error of every head of cross-attention, for a model that has it measured"
    )

    table: AlignmentTable
    folder: str
    numbered: bool = True

    needs_model = False
    origin = ("model",)
    title = alignment_map.TITLE
    name = "effects-alignment"

    @classmethod
    def of(cls, request: Request) -> AlignmentMap:
        table = request.alignment
        if table is None:
            raise ExportError(NO_ALIGNMENT)
        return cls(table, request.folder)

    @property
    def alt(self) -> str:
        return alignment_map.alignment_alt_text(self.table)

    @property
    def caption(self) -> str:
        return alignment_map.alignment_caption(self.table)

    def figure(self, layout: Layout) -> go.Figure:
        return alignment_map.alignment_figure(self.table, numbered=self.numbered, **layout.options)

    def numbers(self) -> Numbers:
        reads, rates = list(self.table.rates), list(self.table.rates.values())
        columns: dict[str, Any] = {
            "layer": np.array([read.layer for read in reads], np.int64),
            "head": np.array(
                ["all" if read.head is None else str(read.head) for read in reads], np.str_
            ),
            "one_row_later": np.array([read.later for read in reads], np.bool_),
        }
        for name in ("error", "low", "high", "precision", "recall"):
            columns[name] = np.array([getattr(rate, name) for rate in rates], np.float64)
        return Numbers(
            {"gold": self.table.gold, "pairs": self.table.n_pairs},
            {"read": range(len(reads))},
            {name: (("read",), values) for name, values in columns.items()},
        )

    def python(self, layout: Layout) -> Lines:
        numbered = "" if self.numbered else ", numbered=False"
        return [
            f"table = hs.figures.read_alignment(hs.checkpoint_folder({self.folder!r}))",
            f"hs.figures.alignment_figure(table{numbered}{layout.python})",
        ]


NO_CURVES = (
    "This model came without curves of removal over its examples; python -m model.training.removal "
    "computes them."
)

NO_ALIGNMENT = (
    "No alignment errors are kept with this model: they are measured on English and German "
    "sentences whose words were linked by hand, by python -m benchmarks.alignment --checkpoint "
    "FOLDER --store."
)

NO_ALIGNMENT_OF_OTHERS = (
    "Alignment errors are measured on English and German sentences whose words were linked by "
    f"hand, and this model does not translate between these. Choose “{MAPS['probability']}” to see "
    "what is lost without each of its heads."
)


def changed_words(before: str, after: str) -> int:
    """How many words of a text are not in another, or the other way round, whichever is more."""
    counts = {"removed": 0, "added": 0, "same": 0}
    for change, text in word_diff(before, after):
        counts[change] += len(text.split())
    return max(counts["removed"], counts["added"])


def _off_python(off: Heads) -> str:
    """The end of a call that names heads that bear a cross."""
    if not off:
        return ""
    listed = ", ".join(
        f"(hs.Site(hs.AttentionKind.{site.kind.name}, {site.layer}), {head})" for site, head in off
    )
    return f", off=[{listed}]"


def _by_head(
    values: Mapping[Site, FloatArray] | Mapping[Site, NDArray[np.float64]],
) -> tuple[dict[str, NDArray[np.str_] | NDArray[np.int64]], NDArray[np.floating]]:
    """Kind, layer and number of every head, one below the other, and their values."""
    heads = [(site, head) for site, each in values.items() for head in range(len(each))]
    return {
        "attention": np.array([str(site.kind) for site, _ in heads], np.str_),
        "layer": np.array([site.layer for site, _ in heads], np.int64),
        "head": np.array([head for _, head in heads], np.int64),
    }, np.concatenate(list(values.values()))
