"""Tokens and hidden states of the second sentence that can be put into the first."""

from typing import Any

from model.record.patches import Side, Stream
from viz.compare.paired import PairedTraces
from viz.compare.view import written_part
from viz.draw.labels import axis_texts


def parts_of(pair: PairedTraces, layers: dict[Side, int]) -> dict[str, Any]:
    """Tokens and hidden states of the second sentence.

    Args:
        pair: traces of both sentences.
    """
    partners = {other: one for one, other in pair.source}
    encoder = range(layers["encoder"])
    return {
        "tokens": [
            [text, partners.get(place)] for place, text in enumerate(axis_texts(pair.second.source))
        ],
        "stages": [
            ["embedding", "Embedding"],
            *([str(layer), f"Encoder layer {layer}"] for layer in encoder),
            ["output", "Encoder output"],
        ],
        "states": [
            ["All encoder tokens, after layer", [*_layers("encoder", layers), _output()]],
            ["All decoder tokens, after layer", _layers("decoder", layers)],
        ],
    }


def _layers(side: Side, layers: dict[Side, int]) -> list[list[str]]:
    return [
        [written_part(Stream(side, layer)), str(layer), Stream(side, layer).name]
        for layer in range(layers[side])
    ]


def _output() -> list[str]:
    stream = Stream("encoder", "output")
    return [written_part(stream), "Output", stream.name]
