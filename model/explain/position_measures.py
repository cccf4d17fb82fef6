"""Measures of a table of position encodings (Vaswani et al. 2017, section 3.5).

Everything here measures a given table, (position, d_model): a model's own or the formula's. Only
`formula_table` and `wavelengths` know the formula.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.brief import Brief
from model.trace.attention_map import FloatArray

Values = NDArray[np.float64]

BASE = 10000.0
"""The base of the wavelengths in section 3.5."""

EQUAL = 1e-5
"""Differences below this share of the largest number are rounding, in sums of hundreds of float32
products."""

ROUND = 1e-3
"""The points of a pair of dimensions are on a circle if their radii differ by less."""


def wavelengths(d_model: int, base: float = BASE) -> Values:
    """The wavelength of each pair of dimensions, 2π · base^(2i/d_model), in positions.

    Args:
        d_model: even.
        base: above 0.

    Returns:
        (d_model / 2,), shortest first if base is above 1; pair i is the dimensions 2i (sine) and
        2i + 1 (cosine).

    Raises:
        ValueError: if d_model is odd or below 2, or base is not a finite number above 0.
    """
    _require_formula(d_model, base)
    return 2 * math.pi * base ** (np.arange(0, d_model, 2, dtype=np.float64) / d_model)


def formula_table(d_model: int, length: int, base: float = BASE) -> FloatArray:
    """The table of the formula in section 3.5, without any model, (length, d_model).

    Arguments and errors are those of `wavelengths`; also ValueError if length is below 1.
    """
    _require_formula(d_model, base)
    if length < 1:
        raise ValueError(f"A table needs at least 1 position; {length} were asked for.")
    # In double precision, like the model's own.
    angles = np.arange(length, dtype=np.float64)[:, None] * (
        2 * math.pi / wavelengths(d_model, base)
    )
    table = np.empty((length, d_model), dtype=np.float32)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def row_norms(table: FloatArray) -> Values:
    """The length of each position's vector, (position,); √(d_model / 2) for sinusoids."""
    require_table(table)
    return np.linalg.norm(table.astype(np.float64), axis=1)


def likeness(table: FloatArray, *, cosine: bool) -> Values:
    """The dot product of every two rows of a (position, d_model) table, or their cosine.

    The cosine of a zero vector is 0.
    """
    require_table(table)
    rows = table.astype(np.float64)
    if cosine:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(norms > 0, norms, 1)
    return rows @ rows.T


@dataclass(frozen=True, slots=True, eq=False)
class ByOffset(Brief):
    """The likeness of two positions by their distance 0, 1, …, (offset,) each.

    The mean, the least and the greatest are over all pairs at this distance.
    """

    offsets: NDArray[np.int64]
    mean: Values
    low: Values
    high: Values


def by_offset(table: FloatArray, *, cosine: bool = False) -> ByOffset:
    """The likeness of positions p and p + k for each k, over all p; arguments as in `likeness`."""
    alike = likeness(table, cosine=cosine)
    diagonals = [np.diagonal(alike, offset) for offset in range(len(alike))]
    return ByOffset(
        np.arange(len(alike)),
        np.array([diagonal.mean() for diagonal in diagonals]),
        np.array([diagonal.min() for diagonal in diagonals]),
        np.array([diagonal.max() for diagonal in diagonals]),
    )


def rotation_angles(table: FloatArray, offset: int) -> Values:
    """The best-fitting angle by which a shift rotates each pair of dimensions, (d_model / 2,).

    It is measured, not taken from the formula: in least squares, the rotation that brings PE(p)
    nearest to PE(p + offset) over all p. In radians from -π to π; a sinusoid's is offset · 2π /
    wavelength, up to full turns.

    Args:
        table: (position, d_model), d_model even.
        offset: of the shift, from 0, below the number of positions.

    Raises:
        ValueError: if d_model is odd, or offset is out of range.
    """
    before, after = _shifted_pairs(table, offset)
    (sine, cosine), (later_sine, later_cosine) = before, after
    across = (cosine * later_sine - sine * later_cosine).sum(axis=0)
    along = (cosine * later_cosine + sine * later_sine).sum(axis=0)
    return np.arctan2(across, along)


def rotation_deviation(table: FloatArray, offset: int) -> float:
    """The largest difference between PE(p + offset) and R PE(p) with one rotation R for every p.

    R rotates each pair of dimensions by its `rotation_angles` (section 3.5: PE(p + k) is a linear
    function of PE(p)); arguments and errors as there. 0 for exact sinusoids.
    """
    angles = rotation_angles(table, offset)
    (sine, cosine), (later_sine, later_cosine) = _shifted_pairs(table, offset)
    turned_sine = sine * np.cos(angles) + cosine * np.sin(angles)
    turned_cosine = cosine * np.cos(angles) - sine * np.sin(angles)
    differences = np.abs(turned_sine - later_sine), np.abs(turned_cosine - later_cosine)
    return float(max(difference.max() for difference in differences))


def on_circle(table: FloatArray, pair: int) -> bool:
    """Whether all positions of a pair of dimensions, 2 · pair and the next, are on one circle.

    Raises:
        ValueError: if d_model is odd.
        IndexError: if there is no such pair.
    """
    radii = np.hypot(*pair_of(table, pair))
    return bool(radii.min() > ROUND and radii.max() - radii.min() <= ROUND * radii.max())


def pair_of(table: FloatArray, pair: int) -> tuple[Values, Values]:
    """The sine of one frequency, then its cosine, (position,) each."""
    sines, cosines = _pairs(table)
    require_index("pair of dimensions", pair, sines.shape[1])
    return sines[:, pair], cosines[:, pair]


def _pairs(table: FloatArray) -> tuple[Values, Values]:
    """The even dimensions, then the odd ones, (position, d_model / 2) each."""
    require_table(table)
    if table.shape[1] % 2:
        raise ValueError(
            f"Dimensions pair up only where there is an even number of them; the table has "
            f"{table.shape[1]}."
        )
    exact = table.astype(np.float64)
    return exact[:, 0::2], exact[:, 1::2]


def _shifted_pairs(
    table: FloatArray, offset: int
) -> tuple[tuple[Values, Values], tuple[Values, Values]]:
    """The pairs of every position with another `offset` later, then of the later one."""
    sines, cosines = _pairs(table)
    length = len(table)
    if not 0 <= offset < length:
        raise ValueError(
            f"A shift within this table may be from 0 to {length - 1}; it is {offset}."
        )
    n_pairs = length - offset
    return (sines[:n_pairs], cosines[:n_pairs]), (sines[offset:], cosines[offset:])


def require_table(table: FloatArray) -> None:
    """Raises ValueError unless a table is (position, d_model), not empty and finite."""
    if table.ndim != 2 or not table.size:
        raise ValueError(
            f"A table of positions has the shape (position, d_model); this one has {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("The table of positions contains NaN or infinity; check it.")


def require_index(noun: str, index: int, count: int) -> None:
    """Raises IndexError unless the index is below the count."""
    if not 0 <= index < count:
        raise IndexError(f"There is no {noun} {index}; choose one from 0 to {count - 1}.")


def _require_formula(d_model: int, base: float) -> None:
    if d_model < 2 or d_model % 2:
        raise ValueError(
            f"Sinusoids pair a sine with a cosine, so d_model must be even and at least 2; it is "
            f"{d_model}."
        )
    if not 0 < base < math.inf:
        raise ValueError(f"The base must be a finite number above 0; it is {base}.")
