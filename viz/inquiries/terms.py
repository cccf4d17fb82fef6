"""Inquiries about what something is: one or two sentences, and the page that shows it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from model.explain.attribution import METHODS
from model.numbers import count_of, percent
from model.trace.attention_map import AttentionKind
from viz.about.glossary import TERMS as BASIC
from viz.about.view import AboutView
from viz.compare.view import CompareView
from viz.decoding.certainty import HESITANT
from viz.decoding.view import DecodingView
from viz.effects.view import EffectsView
from viz.heads.about_trace import shape_of
from viz.heads.view import HeadsView
from viz.inquiries.facts import has_score, read_tokens, score
from viz.inquiries.inquiry import Answer, Inquiries, Subject, always
from viz.inquiries.weights import has_scores, how_computed
from viz.inquiries.what_if import adds_positions
from viz.links.searches import USUAL
from viz.masks.view import MasksView
from viz.model_page.view import ModelPageView
from viz.positions.view import PositionsView

inquiry = Inquiries()


class Term(NamedTuple):
    """A question of what something is.

    Attributes:
        key: of the Inquiry, with its text.
        says: the answer, or what says it of a subject.
        shown: the view of the page that shows it for a subject.
    """

    key: str
    text: str
    says: str | Callable[[Subject], str]
    shown: Callable[[Subject], Any]


def heads_of(kind: AttentionKind | None, subject: Subject) -> HeadsView:
    """The heads page, with a kind of attention where the model has that."""
    kinds = [site.kind for site in subject.trace.maps]
    attention = kind if kind in kinds else AttentionKind.CROSS
    return HeadsView(attention=str(attention if attention in kinds else kinds[0]))


def heads(subject: Subject) -> HeadsView:
    return heads_of(None, subject)


def model(subject: Subject) -> ModelPageView:
    return ModelPageView()


def about(subject: Subject) -> AboutView:
    return AboutView()


def one_weight(subject: Subject) -> Any:
    """One weight, from query and key to the softmax, where these are known."""
    if not has_scores(subject):
        return heads(subject)
    view = how_computed(subject).view
    if not subject.is_model:
        return view
    # Close up in the model, where a saved trace has no vectors.
    return ModelPageView(place=f"{view.attention}.{view.layer}.{view.head}.{view.cell}")


def of_model(view: Any, subject: Subject) -> Any:
    """A page that needs a model, or else the heads page."""
    return view if subject.is_model else heads(subject)


def positions(topic: str, subject: Subject) -> Any:
    """A part of the positions page, or its usual part where the model has no table."""
    view = PositionsView(topic=topic) if subject.is_model and adds_positions(subject) else None
    return of_model(view or PositionsView(), subject)


def _token(subject: Subject) -> str:
    return f"{BASIC['Token']} It read {count_of(len(read_tokens(subject)), 'token')} here."


def _head(subject: Subject) -> str:
    return f"{BASIC['Head']} Here are {count_of(subject.n_heads, 'head')}."


def _layer(subject: Subject) -> str:
    return f"{BASIC['Layer']} Here: {shape_of(subject.trace)}."


def _embedding(subject: Subject) -> str:
    size = f" of {subject.model.model.config.d_model} numbers" if subject.is_model else ""
    return f"The vector{size} as which a token enters the model. Training finds its numbers."


def _feed_forward(subject: Subject) -> str:
    size = f", {subject.model.model.config.d_ff} units wide" if subject.is_model else ""
    return f"A small network{size}, through which each token of a layer passes by itself."


def _vocabulary(subject: Subject) -> str:
    size = f": {subject.model.model.config.vocabularies}" if subject.is_model else ""
    return f"All tokens that a model can read and write{size}. Longer words are made of several."


def _bleu(subject: Subject) -> str:
    scored = f" This model: {score(subject)}." if has_score(subject) else ""
    return (
        "It says how much of a translation's wording agrees with a human translation, from 0 to "
        f"100.{scored}"
    )


TERMS = (
    Term(
        "what-headscope",
        "What is this?",
        "Headscope runs a Transformer, the kind of network behind translators and chatbots, on "
        "your sentence, and shows what each part does. Click a block to look inside.",
        model,
    ),
    Term(
        "what-attention",
        "What is attention?",
        "The way tokens exchange information: each token gives the tokens it may look at weights, "
        "and takes in their weighted average.",
        heads,
    ),
    Term(
        "what-weight",
        "What is an attention weight?",
        "The share of a token's attention that goes to another token, from 0 to 1. Each row of "
        "a head adds up to 1.",
        heads,
    ),
    Term(
        "what-token",
        "What is a token?",
        _token,
        model,
    ),
    Term(
        "what-head",
        "What is a head?",
        _head,
        heads,
    ),
    Term(
        "what-layer",
        "What is a layer?",
        _layer,
        model,
    ),
    Term(
        "what-encoder",
        "What is the encoder?",
        BASIC["Encoder"],
        partial(heads_of, AttentionKind.ENCODER),
    ),
    Term(
        "what-decoder",
        "What is the decoder?",
        BASIC["Decoder"],
        partial(heads_of, AttentionKind.DECODER),
    ),
    Term(
        "what-cross",
        "What is cross-attention?",
        BASIC["Cross-attention"],
        partial(heads_of, AttentionKind.CROSS),
    ),
    Term(
        "what-self",
        "What is self-attention?",
        "Attention among the tokens of one text: in the encoder, those of the sentence that is "
        "read; in the decoder, those written so far.",
        partial(heads_of, AttentionKind.ENCODER),
    ),
    Term(
        "what-query",
        "What are query, key and value?",
        "Three vectors that a head computes for each token: the query says what it looks for, "
        "the key what others find it by, and the value what it passes on.",
        one_weight,
    ),
    Term(
        "what-softmax",
        "What is the softmax?",
        "The function that turns a row of scores into weights: all positive, adding up to 1, and "
        "the higher the score, the larger the weight.",
        one_weight,
    ),
    Term(
        "what-scaling",
        "Why are scores divided by √d_k?",
        "Products of long vectors are large, and would drive the softmax to put all weight on one "
        "token; dividing them by √d_k keeps them in range (Vaswani et al. 2017).",
        one_weight,
    ),
    Term(
        "what-transformer",
        "What is a Transformer?",
        "A neural network for text, made of layers of attention heads and small feed-forward "
        "networks (Vaswani et al. 2017). Here its encoder reads and its decoder writes.",
        model,
    ),
    Term(
        "what-many-heads",
        "Why are there several heads?",
        "In one row, a head has only one set of weights. Several heads let a token look at "
        "several places for several reasons at once.",
        heads,
    ),
    Term(
        "what-mask",
        "What is a mask?",
        "It says which tokens each token may look at. What it hides gets a weight of 0.",
        partial(of_model, MasksView()),
    ),
    Term(
        "what-causal",
        "Why can the decoder not see later words?",
        "It learns to predict the next word, so that word must be hidden from it: the causal mask "
        "lets a token look only at itself and what comes before.",
        partial(of_model, MasksView(masked=str(AttentionKind.DECODER))),
    ),
    Term(
        "what-embedding",
        "What is an embedding?",
        _embedding,
        partial(positions, "words"),
    ),
    Term(
        "what-position",
        "What is a position encoding?",
        "It tells the model where each token stands. Attention alone compares tokens without "
        "regard to their order.",
        partial(positions, "table"),
    ),
    Term(
        "what-beam",
        "What is beam search?",
        f"A search that keeps the {USUAL.beam} best unfinished translations at each step. Greedy "
        "decoding keeps one: it always takes the likeliest next token.",
        partial(of_model, DecodingView(section="beams")),
    ),
    Term(
        "what-sampling",
        "What is sampling?",
        "It draws each next token at random by its probability instead of searching for the best; "
        "a temperature below 1 prefers likely tokens. The usual search draws nothing.",
        partial(of_model, DecodingView()),
    ),
    Term(
        "what-special",
        "What are <s> and </s>?",
        "Marks for the start and the end of a text. The model stops when it writes </s>, and "
        "heads can rest on such a mark when they have nothing else to look at.",
        heads,
    ),
    Term(
        "what-grey",
        "What are the grey, hatched cells?",
        "Hatched cells are forbidden: a mask hides that token from this one. A pale cell without "
        "hatching was allowed and got almost no weight.",
        partial(heads_of, AttentionKind.DECODER),
    ),
    Term(
        "what-colours",
        "What do the colours mean?",
        "The more a cell stands out from the page, the larger its weight. One scale, below the "
        "heads, serves all of them.",
        heads,
    ),
    Term(
        "how-read",
        "How do I read a heatmap?",
        "Each row is a token that looks, each column a token that it may look at, and each cell "
        "the weight between the two. Click a cell to see how it comes about.",
        heads,
    ),
    Term(
        "what-underlined",
        "Why are some words underlined?",
        f"The model gave them less than {percent(HESITANT)}, so it might well have written "
        "another word there.",
        partial(of_model, DecodingView(section="certainty")),
    ),
    Term(
        "what-log-probability",
        "What is a log-probability?",
        "The logarithm of a probability: 0 is certain, −0.7 about one half, −2.3 a tenth. That of "
        "a sentence is the sum over its tokens.",
        partial(of_model, DecodingView(section="certainty")),
    ),
    Term(
        "what-entropy",
        "What is entropy?",
        "How widely a row spreads its weight, in bits: 0 if all of it is on one token, 1 if two "
        "tokens share it evenly, 2 if four do.",
        lambda subject: replace(heads(subject), order="entropy"),
    ),
    Term(
        "what-ablation",
        "What is ablation?",
        "Switching a part off and measuring what is lost: here, how much less likely the "
        "translation becomes without a head.",
        partial(of_model, EffectsView()),
    ),
    Term(
        "what-attribution",
        "What is attribution?",
        f"An estimate of how much each token contributed to another. {len(METHODS)} methods stand "
        "here beside the effect of really deleting the token.",
        partial(of_model, EffectsView(show="maps")),
    ),
    Term(
        "what-lens",
        "What is the logit lens?",
        "A look into the middle of the model: what the decoder would write if it ended after "
        "each layer.",
        partial(of_model, DecodingView(section="layers")),
    ),
    Term(
        "what-patching",
        "What is patching?",
        "Putting a part of one run, such as a head's output, into another run, to see what it "
        "changes there.",
        partial(of_model, CompareView()),
    ),
    Term(
        "what-residual",
        "What is a residual connection?",
        "Each part of a layer adds its result to the vector that it was given, instead of "
        "replacing it. So what a token knew is carried on.",
        model,
    ),
    Term(
        "what-norm",
        "What is layer norm?",
        "It brings the numbers of each token's vector to mean 0 and variance 1, then rescales "
        "them, which keeps training stable.",
        model,
    ),
    Term(
        "what-feed-forward",
        "What is a feed-forward layer?",
        _feed_forward,
        model,
    ),
    Term(
        "what-vocabulary",
        "What is the vocabulary?",
        _vocabulary,
        about,
    ),
    Term(
        "what-label",
        "What is a head's label?",
        "What the head does in most of the sentences it was measured on, such as looking at the "
        "previous token. Many heads earn none.",
        about,
    ),
    Term(
        "what-bleu",
        "What is BLEU?",
        _bleu,
        about,
    ),
    Term(
        "what-checkpoint",
        "What is a checkpoint?",
        "A trained model as files. The menu at the right of the sentence opens another one.",
        about,
    ),
    Term(
        "what-trace",
        "What is a trace?",
        "Everything that one run of a model recorded: tokens, weights, scores and probabilities, "
        "as a file that opens without the model.",
        heads,
    ),
)


def _answer(term: Term, subject: Subject) -> Answer:
    says = term.says if isinstance(term.says, str) else term.says(subject)
    return Answer(says, term.shown(subject))


def ask_of(
    inquiries: Inquiries, terms: Iterable[Term], fits: Callable[[Subject], bool] = always
) -> None:
    """Add the questions that terms answer."""
    for each in terms:
        inquiries(each.key, each.text, fits)(partial(_answer, each))


ask_of(inquiry, TERMS)
