"""The pictures that `headscope export` makes, by their names there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headscope.commands.request import Request
from model.explain.facts import facts_of
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from viz.compare.head_pair import HeadPair
from viz.compare.heads import HeadDifferences
from viz.compare.paired import PairedTraces, matched
from viz.compare.tracing import TracedWord
from viz.compare.words import PatchedWords
from viz.decoding.certainty import Certainty
from viz.decoding.lens import LayerLens
from viz.decoding.search_results import ComparedSearches, SearchWidths
from viz.decoding.search_tree import SearchTree
from viz.decoding.steps import OneStep
from viz.effects.alignment_map import NO_ALIGNMENT, AlignmentMap
from viz.effects.contrast_map import ContrastMap
from viz.effects.deciding_heads import DecidingHeads
from viz.effects.effect_map import EffectMap
from viz.effects.estimate_vs_deletion import MapBesideTruth
from viz.effects.logit_waterfall import LogitWaterfall
from viz.effects.path_graph import PathGraph
from viz.effects.ranking import MapRanking
from viz.effects.removal_curve import NO_CURVES, ExamplesCurve, RemovalCurve
from viz.effects.self_maps import SelfMap, no_truth
from viz.effects.two_words import WordsWithoutTokens
from viz.heads.childhood import Childhood
from viz.heads.every_head import EveryHead
from viz.heads.matrices import WeightMatrices
from viz.heads.one_head import OneHead
from viz.heads.query_key import QueryKey
from viz.heads.whole_view import WholeView
from viz.links.searches import WIDEST, of_every_width, written_settings
from viz.masks.batch_masks import batch_masks
from viz.masks.own_masks import OneMask
from viz.masks.window import OpeningWindow
from viz.model_page.picture import PlayedSentence, WalkedModel
from viz.positions.circle import Circle
from viz.positions.embedding_sum import EmbeddingSum
from viz.positions.score_terms import TermShares, term_shares
from viz.positions.similarity import ByOffset, Similarity
from viz.positions.table import Positions
from viz.positions.waves import Waves
from viz.save.formats import ExportError
from viz.save.picture import Picture


@dataclass(frozen=True, slots=True)
class Exported:
    """A picture of the command line.

    Attributes:
        about: what it shows, and which arguments it takes.
    """

    kind: type[Picture]
    about: str
    of: Callable[[Request], Picture]


PICTURES: dict[str, Exported] = {}

Make = Callable[[Request], Picture]


def exported(kind: type[Picture], name: str, about: str) -> Callable[[Make], Make]:
    """Enter what a function makes of a request, under its name on the command line."""

    def enter(of: Make) -> Make:
        PICTURES[name] = Exported(kind, about, of)
        return of

    return enter


def whole_view(request: Request) -> WholeView:
    """The view with the layer and the head selected that were asked for, as far as they are."""
    asked, seen, trace = request.arguments, request.seen, request.trace
    maps, _ = request.maps
    layers = [site.layer for site in seen.maps if site.kind is maps[0].site.kind]
    selection = {"attention": asked.attention}
    if asked.layer is not None:
        selection["layer"] = str(layers.index(asked.layer))
    if asked.head is not None:
        selection["head"] = str(asked.head)
    return WholeView(
        trace,
        seen,
        facts_of(seen.maps),
        request.labels,
        f"{trace.source_text} – {trace.text}",
        selection,
    )


def _asked_pair(request: Request) -> PairedTraces:
    """The sentence beside a second one, or in a second model."""
    first, second = request.first, request.second
    if not request.arguments.other_model:
        return PairedTraces(first, second)
    partners, surveyed = request.partners
    pair = PairedTraces(first, second, "model", partners or matched(first, second), surveyed)
    if not pair.heads:
        raise ExportError("These two models share no kind of attention; choose another model.")
    return pair


def _cross_maps(request: Request) -> dict[str, Any]:
    """What the command line asks of maps of cross-attention, by field."""
    given = request.arguments
    if given.head is not None and given.layer is None:
        raise ExportError("A head needs its layer: add --layer, or leave --head out.")
    site = None if given.layer is None else Site(AttentionKind.CROSS, given.layer)
    return {
        "attributions": request.attributions,
        "sentence": request.text,
        "target": request.target,
        "site": site,
        "head": given.head,
        "later": site is not None and request.read_later.get(site.layer, False),
        "token": request.token,
    }


@exported(
    PlayedSentence,
    "played",
    "the whole model with the sentence running through it, written word by word",
)
def played(request: Request) -> PlayedSentence:
    return PlayedSentence(request.whole_model)


@exported(
    WalkedModel,
    "walk",
    "a walk through the model with the sentence, from its tokens to the next word; a film only",
)
def walk(request: Request) -> WalkedModel:
    return WalkedModel(request.whole_model)


@exported(
    EveryHead,
    "heads",
    "every head of a kind of attention; with --layer or --head those of one layer or number, "
    "with both that head. As .html the whole heads view with its interaction, offline.",
)
def heads(request: Request) -> Picture:
    asked = request.arguments
    if asked.out.suffix.lower() == ".html":
        return whole_view(request)
    if asked.layer is not None and asked.head is not None:
        # One head, and that is worth its tokens' names.
        return head(request)
    kind = AttentionKind(asked.attention)
    return EveryHead(request.seen, kind, asked.layer, asked.head, target=request.target)


@exported(OneHead, "head", "one head: --attention, --layer, --head")
def head(request: Request) -> OneHead:
    site = request.attention_map.site
    return OneHead(request.seen, site, request.head, target=request.target)


@exported(QueryKey, "query-key", "one weight from the inside: --query, --key")
def query_key(request: Request) -> QueryKey:
    asked = request.arguments
    site = request.attention_map.site
    cell = asked.query, asked.key
    return QueryKey(request.seen, site, request.head, *cell, target=request.target)


@exported(
    WeightMatrices, "matrices", "W_Q, W_K, W_V and W_O of one head: --attention, --layer, --head"
)
def matrices(request: Request) -> WeightMatrices:
    site = request.site
    return WeightMatrices(request.translator.head_matrices(site, request.head), site, request.head)


@exported(
    Childhood,
    "childhood",
    "the heads at every snapshot of the training, of models that have some: every head of a "
    "kind of attention, or with --layer and --head that one; a film only",
)
def childhood(request: Request) -> Childhood:
    grown = request.growth
    if not grown:
        raise ExportError(
            "This model came without snapshots of its training; choose one that has some, "
            "such as en-de-childhood."
        )
    asked = request.arguments
    return Childhood(
        [step for step, _ in grown],
        lambda place: grown[place][1],
        request.reading,
        AttentionKind(asked.attention),
        asked.layer,
        asked.head,
    )


@exported(
    OneMask,
    "mask",
    "what the mask lets attention look at, and why not elsewhere: --attention, --layer",
)
def mask(request: Request) -> OneMask:
    site = request.site
    mask = batch_masks([request.trace], 0, layer=site.layer)[site.kind]
    return OneMask(mask, site.layer, request.text, request.target)


@exported(
    OpeningWindow,
    "window",
    "one head while a window over its attention opens: --attention, --layer, --head; a film only",
)
def window(request: Request) -> OpeningWindow:
    model, search = request.translator, request.search
    translation = model.translate(request.text, search=search)
    return OpeningWindow(
        request.attention_map,
        request.head,
        lambda under: model.trace_of(translation, under=under),
    )


@exported(
    EffectMap,
    "effects",
    "what the translation, or with --token one target token, loses without each head",
)
def effects(request: Request) -> EffectMap:
    return EffectMap(request.effects, request.token, request.target)


@exported(RemovalCurve, "removal", "what is left of the translation while heads are removed")
def removal(request: Request) -> RemovalCurve:
    return RemovalCurve(request.removal, request.text, request.target)


@exported(
    ExamplesCurve,
    "examples",
    "the same over the model's examples, if measured: --measure log_prob or chrf",
)
def examples(request: Request) -> ExamplesCurve:
    examples = request.examples_removal
    if examples is None:
        raise ExportError(NO_CURVES)
    return ExamplesCurve(examples, request.arguments.measure, request.folder)


@exported(
    MapBesideTruth,
    "maps",
    "what a target token loses without each source token, beside --method's estimate for the "
    "whole model, for the cross-attention of --layer, or for its --head; --token frames a row; "
    "with --attention encoder or decoder, a map of --layer beside its weights",
)
def maps(request: Request) -> Picture:
    given = request.arguments
    if AttentionKind(given.attention) is AttentionKind.CROSS:
        return MapBesideTruth(**_cross_maps(request), method=given.method)
    if given.layer is None:
        raise ExportError("A map of self-attention shows one layer: add --layer.")
    maps = request.self_attributions
    return SelfMap(maps, request.text, request.target, given.head, request.token, given.method)


@exported(
    MapRanking,
    "ranking",
    "how well each method's map agrees with the truth; --layer, --head, --token as in maps",
)
def ranking(request: Request) -> MapRanking:
    kind = AttentionKind(request.arguments.attention)
    if kind is not AttentionKind.CROSS:
        raise ExportError(no_truth(kind))
    return MapRanking(**_cross_maps(request))


@exported(
    AlignmentMap, "alignment", "alignment error of every head of cross-attention, if measured"
)
def alignment(request: Request) -> AlignmentMap:
    table = request.alignment
    if table is None:
        raise ExportError(NO_ALIGNMENT)
    return AlignmentMap(table, request.folder)


@exported(
    ContrastMap,
    "contrast",
    "each head's part in one word's advantage over another: --token, --instead",
)
def contrast(request: Request) -> ContrastMap:
    return ContrastMap(*request.contrasted, target=request.target)


@exported(WordsWithoutTokens, "sources", "both words without each source token; likewise")
def sources(request: Request) -> WordsWithoutTokens:
    return WordsWithoutTokens(*request.contrasted, target=request.target)


@exported(
    DecidingHeads, "fewest", "the fewest heads without which the other word is likelier; likewise"
)
def fewest(request: Request) -> DecidingHeads:
    return DecidingHeads(
        *request.contrasted,
        request.head_set,
        request.random_sets,
        request.folder,
        target=request.target,
    )


@exported(LogitWaterfall, "sum", "what adds up to the difference of the two words; likewise")
def logit_sum(request: Request) -> LogitWaterfall:
    return LogitWaterfall(*request.contrasted, request.logit_terms, target=request.target)


@exported(PathGraph, "paths", "the ways from the source to the word; likewise")
def paths(request: Request) -> PathGraph:
    return PathGraph(*request.contrasted, request.paths, request.folder, target=request.target)


@exported(
    HeadDifferences,
    "differences",
    "how every head differs on a second sentence (--other) or in a second model",
)
def differences(request: Request) -> HeadDifferences:
    return HeadDifferences(_asked_pair(request), request.arguments.other_model)


@exported(
    HeadPair,
    "pair",
    "one head on two sentences or in two models, by default the one that differs most",
)
def pair(request: Request) -> HeadPair:
    asked = request.arguments
    pair = _asked_pair(request)
    if asked.layer is None and asked.head is None:
        return HeadPair(pair, asked.other_model)
    head = Head(Site(AttentionKind(asked.attention), request.layer), request.head)
    if head not in pair.heads:
        raise ExportError(
            f"{head.name} is missing, or has no partner in the second model; choose another head."
        )
    return HeadPair(pair, asked.other_model, head)


@exported(
    TracedWord,
    "tracing",
    "a word's probability (--token) with one token's states of a second sentence (--other)",
)
def tracing(request: Request) -> TracedWord:
    trace = request.causal_trace
    return TracedWord(trace, request.token_of(len(trace.predictions)))


@exported(
    PatchedWords,
    "patched",
    "each word's probability with parts (--patched) of a second sentence (--other) put in",
)
def patched(request: Request) -> PatchedWords:
    return PatchedWords(request.patched, request.arguments.patched)


@exported(
    OneStep, "step", "one step of the decoding and the likeliest tokens it may write: --token"
)
def step(request: Request) -> OneStep:
    decoding = request.decoding
    step = request.token_of(len(decoding.steps)) or 0
    changes = request.changes
    trace = request.translator.trace_of(decoding.translation, under=changes.under)
    return OneStep(decoding, trace, request.search, step, changes=changes)


@exported(
    SearchTree, "tree", "every hypothesis of the search as a tree: --beam, --samples, --prefix"
)
def tree(request: Request) -> SearchTree:
    return SearchTree(request.decoding, request.search, changes=request.changes)


@exported(Certainty, "certainty", "probability, rank and entropy of every token of the translation")
def certainty(request: Request) -> Certainty:
    return Certainty(request.decoding, request.search, changes=request.changes)


@exported(
    ComparedSearches,
    "compare",
    "a search (--beam, --samples) compared with another: --against, by default greedy",
)
def compare(request: Request) -> ComparedSearches:
    try:
        settings = written_settings(request.arguments.against)
    except ValueError:
        raise ExportError(
            "--against takes a search as the address of the decoding page writes it, such as "
            "search-1-60-100-0-100-1-4."
        ) from None
    other = settings.search(request.search.prefix)
    decodings = (request.decoding, request.decode(other))
    return ComparedSearches(decodings, (request.search, other), request.changes)


@exported(SearchWidths, "widths", f"what beams of the widths 1 to {WIDEST} find")
def widths(request: Request) -> SearchWidths:
    decodings = [request.decode(each) for each in of_every_width(request.search)]
    return SearchWidths(decodings, request.search, request.changes)


@exported(
    LayerLens, "layers", "what each decoder layer would predict at every step of the translation"
)
def layers(request: Request) -> LayerLens:
    model = request.translator
    changes = request.changes
    trace = model.trace_of(request.decoding.translation, under=changes.under)
    lens = model.logit_lens(trace, under=changes.under)
    return LayerLens(lens, request.text, request.search, model.has_final_norm, changes)


@exported(Positions, "positions", "the model's table of positions for this sentence")
def positions(request: Request) -> Positions:
    model = request.translator
    return Positions(
        request.sentence_table,
        model.positions.base,
        model.trained_positions(),
        request.text,
        request.source,
    )


@exported(Waves, "waves", "dimensions of that table over position: --dimensions")
def waves(request: Request) -> Waves:
    return Waves(request.table, request.dimensions, request.translator.positions.base)


@exported(
    Circle,
    "circle",
    "a pair of dimensions as points: --dimensions (its first names the pair), --position",
)
def circle(request: Request) -> Circle:
    return Circle(
        request.table,
        request.pair,
        request.arguments.position,
        request.translator.positions.base,
    )


@exported(Similarity, "likeness", "how similar every two positions are")
def likeness(request: Request) -> Similarity:
    return Similarity(request.table)


@exported(ByOffset, "offsets", "the same by how far apart they stand")
def offsets(request: Request) -> ByOffset:
    return ByOffset(request.table)


@exported(EmbeddingSum, "parts", "word, scaling, position and their sum")
def parts(request: Request) -> EmbeddingSum:
    return EmbeddingSum(request.translator.embedding_parts(request.text), request.text)


@exported(TermShares, "terms", "what the first layer's scores come from")
def terms(request: Request) -> TermShares:
    return TermShares(term_shares(request.translator.score_terms(request.text).terms), request.text)
