"""The words that every page uses, each in one sentence, for a person who comes new."""

from __future__ import annotations

TITLE = "What is a head?"

TERMS = {
    "Token": "The smallest piece of text that the model reads and writes: a word, a part of one, a "
    "punctuation mark, or a mark such as </s> for the end of the sentence.",
    "Layer": "One step of the model's work: its heads carry information between tokens, and then a "
    "small network works on each token by itself; a model has one such step or several in a row.",
    "Head": "For each token, a head spreads weights over the tokens that this one may look at, and "
    "passes on the weighted average of what they offer; the heads of a layer work side by side.",
    "Query": "What a head makes of the token that looks: a list of numbers that stands for what is "
    "looked for.",
    "Key": "What a head makes of a token that is looked at: a list of numbers to compare with the "
    "query, and the better the two fit, the larger the weight.",
    "Encoder": "The part of the model that reads the source sentence and makes a list of numbers of"
    " each of its tokens.",
    "Decoder": "The part of the model that writes the translation, one token after another, from "
    "what it has written so far and from what the encoder made.",
    "Cross-attention": "Heads of the decoder that look at the source sentence: their queries come "
    "from the translation, their keys from the encoder.",
}
"""Words and their sentences, as plain text, in the order in which they build on each other.

True of every model of the paper's kind (Vaswani et al. 2017, section 3): any number of layers and
heads, any way to compare query and key, positions of any kind, and layer norms before or after.
"""
