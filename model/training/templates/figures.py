"""Numbers, sums of money, dates and times of day in figures, as English and German write them."""

from __future__ import annotations

import random

from model.training.templates.lexicon import MONTHS

_random = random.Random(1)
_SAMPLES = 1500
_SWAP = str.maketrans(",.", ".,")


def german_figure(english: str) -> str:
    """1,250.50 as 1.250,50."""
    return english.translate(_SWAP)


def _counts() -> tuple[tuple[str, str], ...]:
    numbers = (_random.randrange(1001, 10 ** _random.randint(4, 7)) for _ in range(_SAMPLES))
    rounded = (round(number, -_random.choice((0, 0, 1, 2))) for number in numbers)
    return tuple((f"{each:,}", german_figure(f"{each:,}")) for each in rounded)


def _decimals() -> tuple[tuple[str, str], ...]:
    numbers = (f"{_random.randrange(1, 900) / 10}" for _ in range(600))
    finer = (f"{_random.randrange(1, 3000) / 100:.2f}" for _ in range(300))
    figures = [each for each in (*numbers, *finer) if not each.endswith("0")]
    return tuple((each, german_figure(each)) for each in figures)


def _money() -> tuple[tuple[str, str], ...]:
    sums = []
    for _ in range(_SAMPLES):
        amount = _random.randrange(2, 10 ** _random.randint(1, 6) + 2)
        cents = _random.choice(("", "", ".50", ".99", f".{_random.randrange(10, 100)}"))
        figure = f"{amount:,}{cents}"
        sign, word, wort = _random.choice(_CURRENCIES)
        german = f"{german_figure(figure)} {wort}"
        sums.append(
            (_random.choice((f"{sign}{figure}", f"{sign}{figure}", f"{figure} {word}")), german)
        )
    return tuple(sums)


_CURRENCIES = (
    *(("$", "dollars", "Dollar"), ("$", "dollars", "Dollar")),
    *(("€", "euros", "Euro"), ("£", "pounds", "Pfund")),
)


def _dates() -> tuple[tuple[str, str], ...]:
    dates = []
    for _ in range(_SAMPLES):
        (month, monat), day = _random.choice(MONTHS), _random.randrange(1, 29)
        year = _random.choice((_random.randrange(1750, 1990), _random.randrange(1990, 2031)))
        th = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        american, british = f"{month} {day}, {year}", f"{day} {month} {year}"
        english = _random.choice((american, american, british, f"{month} {day}{th}, {year}"))
        dates.append((english, f"{day}. {monat} {year}"))
    return tuple(dates)


def _days() -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"{month} {day}", f"{day}. {monat}") for month, monat in MONTHS for day in range(1, 29)
    )


def _spans() -> tuple[tuple[str, str], ...]:
    spans = []
    for _ in range(_SAMPLES):
        first, last = sorted(_random.sample(range(12 * 28), 2))
        (month, monat), (later, spaeter) = MONTHS[first // 28], MONTHS[last // 28]
        day, until = first % 28 + 1, last % 28 + 1
        german = f"vom {day}. {monat} bis zum {until}. {spaeter}"
        if month == later:
            german = german.replace(f" {monat}", "", 1)
        spans.append((f"from {month} {day} to {later} {until}", german))
    return tuple(spans)


def _clock() -> tuple[tuple[str, str], ...]:
    times = []
    for hour in range(1, 24):
        in_half, half = hour % 12 or 12, "a.m." if hour < 12 else "p.m."
        times.append((f"{in_half} {half}", f"{hour} Uhr"))
        for minutes in _random.sample(range(1, 60), 12):
            times.append((f"{in_half}:{minutes:02} {half}", f"{hour}:{minutes:02} Uhr"))
    return tuple(times)


_SUMS = _money()
FIGURES = {
    "count": _counts(),
    "decimal": _decimals(),
    "money": _SUMS,
    "dollar": tuple(each for each in _SUMS if each[1].endswith("Dollar")),
    "euro": tuple(each for each in _SUMS if each[1].endswith("Euro")),
    "date": _dates(),
    "day": _days(),
    "year": tuple((str(year), str(year)) for year in range(1750, 2031)),
    "span": _spans(),
    "clock": _clock(),
}
"""Slots of frames."""
