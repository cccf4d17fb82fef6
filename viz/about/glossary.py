"""Eight basic terms, one sentence each."""

TITLE = "What is a head?"

TERMS = {
    "Token": "The smallest piece of text that the model reads and writes: a word, part of a "
    "word, a punctuation mark, or a mark such as </s> for the end of the sentence.",
    "Layer": "One step of the model: its heads carry information between tokens, then a small "
    "network processes each token separately; a model stacks one or more layers.",
    "Head": "For each token, a head spreads weights over the tokens that it may look at, and "
    "passes on the weighted average of what they offer; the heads of a layer work in parallel.",
    "Query": "A list of numbers that a head computes for the token that looks: it describes what "
    "the token looks for.",
    "Key": "A list of numbers that a head computes for a token that is looked at: the better it "
    "fits the query, the larger the weight.",
    "Encoder": "The part of the model that reads the source sentence and turns each of its "
    "tokens into a list of numbers.",
    "Decoder": "The part of the model that writes the translation, one token after another, from "
    "what it has written so far and from the encoder's output.",
    "Cross-attention": "Decoder heads that look at the source sentence: their queries come from "
    "the translation, their keys from the encoder.",
}
"""Terms and their sentences in plain text; later terms build on earlier ones.

True for every model of the paper's kind (Vaswani et al. 2017, section 3), with any number of layers
and heads, scoring function, position encoding, and order of layer norms.
"""
