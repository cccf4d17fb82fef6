"""What of the second sentence's run can be put into the first, for the browser to offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model.record.patches import Side, Stream
from model.trace.head import Head
from viz.compare.paired import PairedTraces
from viz.compare.view import Patches, written_part
from viz.draw.labels import axis_texts


def parts_of(
    pair: PairedTraces, patches: Patches, names: Sequence[str], layers: dict[Side, int]
) -> dict[str, Any]:
    """Tokens, hidden states and heads of the second sentence, with those that are in.

    Args:
        pair: traces of both sentences.
        patches: what is in.
        names: of these, for people.
        layers: how many each side has.
    """
    partners = {other: one for one, other in pair.source}
    second = axis_texts(pair.second.source)
    most = max(pair.moved.values(), default=0) or 1.0
    encoder = range(layers["encoder"])
    return {
        "first": axis_texts(pair.first.source),
        "tokens": [[text, partners.get(place)] for place, text in enumerate(second)],
        "stages": [
            ["embedding", "Embedding"],
            *([str(layer), f"Encoder layer {layer}"] for layer in encoder),
            ["output", "Encoder output"],
        ],
        "states": [
            ["All encoder tokens, after layer", [*_layers("encoder", layers), _output()]],
            ["All decoder tokens, after layer", _layers("decoder", layers)],
        ],
        "heads": [
            [
                f"{kind.full_name} heads",
                [
                    [
                        [
                            str(head),
                            head.short_name,
                            pair.moved[head] / most,
                        ]
                        for number in range(found.n_heads)
                        if (head := Head(site, number)) in pair.moved
                    ]
                    for site, found in pair.first.maps.items()
                    if site.kind is kind
                ],
            ]
            for kind in pair.kinds
        ],
        "put": [[written_part(*each), name] for each, name in zip(patches, names, strict=True)],
    }


def _layers(side: Side, layers: dict[Side, int]) -> list[list[str]]:
    return [
        [written_part(Stream(side, layer)), str(layer), Stream(side, layer).name]
        for layer in range(layers[side])
    ]


def _output() -> list[str]:
    stream = Stream("encoder", "output")
    return [written_part(stream), "Output", stream.name]
