"""Numbers for people: a true minus sign, no minus before a zero, 68%."""

from collections.abc import Callable


def number(value: float) -> str:
    """A number for a title or a sentence: two decimals, or two significant digits."""
    value = float(value)
    return _signed(f"{value:z.2f}" if 0.01 <= abs(value) < 1e6 else f"{value:z.2g}")


def fixed(value: float, digits: int) -> str:
    """A number with this many decimals."""
    return _signed(f"{float(value):z.{digits}f}")


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage: 0.684 is "68%"."""
    return _signed(f"{float(share):z.{digits}%}")


def count_of(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: "1 layer", "1,200 steps"; a plural without s is given."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def number_change(before: float, after: float, written: Callable[[float], str] = number) -> str:
    """How a number changes, as printed: "rises from 0.20 to 0.50", "stays at 0.90"."""
    was, now = written(before), written(after)
    if was == now:
        return f"stays at {was}"
    return f"{'falls' if after < before else 'rises'} from {was} to {now}"


def _signed(written: str) -> str:
    # A minus, not a hyphen: it is more visible, and lines do not break after it.
    return written.replace("-", "−")
