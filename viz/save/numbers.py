"""The numbers of a picture as a file: CSV, JSON and NPZ, as exact as they were recorded."""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.trace.attention_map import Site, Tokens, TraceError
from viz.draw.labels import axis_texts
from viz.draw.panels import Panel
from viz.save.formats import ExportError, NumberFormat

Axes = dict[str, Tokens | Sequence[int]]
Arrays = dict[str, tuple[tuple[str, ...], NDArray[Any]]]

_FORMULA = tuple("=+-@\t\r＝＋－＠")
"""Characters with which a spreadsheet formula begins."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The numbers of a figure with their axes.

    Attributes:
        about: what they belong to, such as the layer: single values by name.
        axes: by name, the tokens along an axis, or the numbers of its places.
        arrays: by name, the axes of an array and the array: numbers, booleans or words.
        texts: by name, what was given to the model, such as the sentence or an edited mask. In CSV
            they stand in the first row only; otherwise every row would repeat them.

    Raises:
        ValueError: if an array has another shape than its axes.
    """

    about: Mapping[str, str | int]
    axes: Mapping[str, Tokens | Sequence[int]]
    arrays: Mapping[str, tuple[tuple[str, ...], NDArray[Any]]]
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The count of all numbers."""
        return sum(values.size for _, values in self.arrays.values())

    def __post_init__(self) -> None:
        for name, (axes, values) in self.arrays.items():
            shape = tuple(len(self.axes[axis]) for axis in axes)
            if values.shape != shape:
                raise ValueError(f"{name} has the shape {values.shape}, and its axes have {shape}.")

    def frame(self) -> pd.DataFrame:
        """The numbers as a table, a row a cell, with tokens and positions; exact, in their types.

        Arrays on other axes have their own rows, in which the other columns stay empty.
        """
        together: dict[tuple[str, ...], list[str]] = {}
        for name, (axes, _) in self.arrays.items():
            together.setdefault(axes, []).append(name)
        tables = [self._table(axes, names, exact=True) for axes, names in together.items()]
        return pd.concat(tables, ignore_index=True).infer_objects().assign(**self.about)

    def encode(self, format: NumberFormat) -> bytes:
        """The numbers as a file, exact: read as float32, they are the recorded ones, bit for bit.

        Args:
            format: "csv" has one row a cell, with tokens as the pictures name them, in UTF-8 with a
                byte order mark for spreadsheets. An apostrophe precedes a token that a spreadsheet
                would compute because it begins with = + - or @. "json" and "npz" hold the
                tokenizer's own tokens with their ids, unchanged.

        Raises:
            ExportError: if there is no such format.
            TraceError: if a token ends in a NUL character, which numpy would drop from an NPZ.
        """
        match format:
            case "csv":
                return self._csv()
            case "json":
                return self._json()
            case "npz":
                return self._npz()
        raise ExportError(f"There is no format {format!r} for numbers; choose csv, json or npz.")

    def _csv(self) -> bytes:
        together: dict[tuple[str, ...], list[str]] = {}
        for name, (axes, _) in self.arrays.items():
            together.setdefault(axes, []).append(name)
        # Arrays on other axes have their own rows, in which the other columns stay empty.
        table = pd.concat([self._table(axes, names) for axes, names in together.items()])
        for place, (name, value) in enumerate(self.about.items()):
            table.insert(place, name, _as_text(value) if isinstance(value, str) else value)
        for name, text in self.texts.items():
            table[name] = [_as_text(text), *[None] * (len(table) - 1)] if len(table) else []
        written: str = table.to_csv(index=False, lineterminator="\n")
        return written.encode("utf-8-sig")

    def _table(
        self, axes: tuple[str, ...], names: list[str], *, exact: bool = False
    ) -> pd.DataFrame:
        shape = tuple(len(self.axes[axis]) for axis in axes)
        columns: dict[str, Any] = {}
        for axis, places in zip(axes, np.indices(shape).reshape(len(axes), -1), strict=True):
            along = self.axes[axis]
            if isinstance(along, Tokens):
                texts = np.array([_as_text(text) for text in axis_texts(along)], dtype=object)
                columns |= {f"{axis}_position": places, axis: texts[places]}
            else:
                columns[axis] = np.array(along, dtype=np.int64)[places]
        for name in names:
            values = self.arrays[name][1].ravel()
            if exact:
                columns[name] = list(values)
                continue
            # In its own precision: a float32 written as a float64 has digits of rounding.
            if values.dtype.kind == "f":
                values = _written(values)
            elif values.dtype.kind == "U":
                values = np.array([_as_text(text) for text in values.tolist()], dtype=object)
            columns[name] = values
        # As objects: a place missing in other rows would turn every place into a float.
        return pd.DataFrame(columns, dtype=object)

    def _json(self) -> bytes:
        content = {
            **self.about,
            **self.texts,
            "axes": {
                name: {"tokens": along.tokens, "ids": along.ids, "texts": axis_texts(along)}
                if isinstance(along, Tokens)
                else list(along)
                for name, along in self.axes.items()
            },
            "arrays": {
                name: {"axes": axes, "values": _plain(values)}
                for name, (axes, values) in self.arrays.items()
            },
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()

    def _npz(self) -> bytes:
        arrays: dict[str, NDArray[Any]] = {
            name: np.array(value) for name, value in [*self.about.items(), *self.texts.items()]
        }
        for name, along in self.axes.items():
            if isinstance(along, Tokens):
                if any(token.endswith("\0") for token in along):
                    raise TraceError(f"A token of {name} ends in NUL, which NPZ cannot hold.")
                arrays[f"{name}.tokens"] = np.array(along.tokens, dtype=np.str_)
                arrays[f"{name}.ids"] = np.array(along.ids, dtype=np.int64)
            else:
                arrays[f"{name}.places"] = np.array(along, dtype=np.int64)
        for name, (axes, values) in self.arrays.items():
            arrays |= {name: values, f"{name}.axes": np.array(axes, dtype=np.str_)}
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()


def column_numbers(
    about: Mapping[str, str | int],
    axis: str,
    places: Tokens | Sequence[int],
    columns: Mapping[str, NDArray[Any] | Sequence[Any]],
) -> Numbers:
    """Numbers or words that all stand on one axis, by name: one value for each place along it."""
    arrays = {name: ((axis,), np.asarray(values)) for name, values in columns.items()}
    return Numbers(about, {axis: places}, arrays)


def panels_numbers(panels: Sequence[Panel]) -> Numbers:
    """The values of panels, each under its title; for categories, the name of each cell.

    If a panel hides cells, a second array says which it shows.
    """
    axes: Axes = {}
    arrays: Arrays = {}
    for panel in panels:
        name = _free(array_name(panel.title), arrays)
        cells = cell_axes(axes, panel.queries, panel.keys, name)
        if panel.scale == "category":
            arrays[name] = (cells, np.array(list(panel.names), dtype=np.str_)[panel.values])
            continue
        arrays[name] = (cells, panel.values)
        if panel.shown is not None:
            arrays[f"{name}_shown"] = (cells, panel.shown)
    return Numbers({}, axes, arrays)


def cell_axes(axes: Axes, queries: Tokens, keys: Tokens, name: str) -> tuple[str, str]:
    """The names of the axes (query, key), added to `axes`; with `name` if others differ."""
    return axis_name(axes, "query", queries, name), axis_name(axes, "key", keys, name)


def axis_name(axes: Axes, usual: str, tokens: Tokens, name: str) -> str:
    """The name of an axis of these tokens: the usual one if all arrays share it."""
    if axes.setdefault(usual, tokens) == tokens:
        return usual
    axes[f"{name}_{usual}"] = tokens
    return f"{name}_{usual}"


def of_head(site: Site, head: int) -> dict[str, str | int]:
    """The head that numbers belong to."""
    return {"attention": str(site.kind), "layer": site.layer, "head": head}


def array_name(title: str) -> str:
    """A title as the name of an array: letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or "values"


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a number after it if it is taken."""
    number = 1
    while (free := name if number == 1 else f"{name}_{number}") in taken:
        number += 1
    return free


def _as_text(text: str) -> str:
    """A text that a spreadsheet shows instead of computing it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _written(values: NDArray[Any]) -> NDArray[np.object_]:
    """Floats in the fewest digits that restore them exactly; None for NaN."""
    written = values.astype(np.str_).astype(object)
    written[np.isnan(values)] = None
    return written


def _plain(values: NDArray[Any]) -> Any:
    """An array as lists of JSON values; null for numbers that are not finite."""
    if values.dtype.kind != "f":
        return values.tolist()
    # Through the fewest digits, because JSON's numbers are double: 0.1, not 0.10000000149011612.
    precise = values.astype(np.str_).astype(np.float64)
    plain = precise.astype(object)
    plain[~np.isfinite(values)] = None
    return plain.tolist()
