"""Numbers as people read them: a minus that is no hyphen, no minus before a zero, 68%."""

from __future__ import annotations


def number(value: float) -> str:
    """A number for a title or a sentence: two digits after the point, or two that count."""
    value = float(value)
    return _signed(f"{value:z.2f}" if 0.01 <= abs(value) < 1e6 else f"{value:z.2g}")


def fixed(value: float, digits: int) -> str:
    """A number with so many digits after the point."""
    return _signed(f"{float(value):z.{digits}f}")


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage: 0.684 is "68%"."""
    return _signed(f"{float(share):z.{digits}%}")


def count_of(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: "1 layer", "1,200 steps".

    Args:
        count: of things.
        noun: for one of them.
        plural: for more; the noun with an s if empty.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def _signed(written: str) -> str:
    # A minus and not a hyphen: it stands out, and no line breaks behind it.
    return written.replace("-", "−")
