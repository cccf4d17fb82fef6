"""Numbers, sums of money, dates and times of day in figures, as English and German write them."""

import random
from collections.abc import Sequence

_SAMPLES = 1500
_CURRENCIES = (
    *(("$", "dollars", "Dollar"), ("$", "dollars", "Dollar")),
    *(("€", "euros", "Euro"), ("£", "pounds", "Pfund")),
)

Texts = tuple[str, str]


def _both(english: str) -> Texts:
    """1,250.50 and 1.250,50."""
    return english, english.translate(str.maketrans(",.", ".,"))


def ordinal(number: int) -> str:
    """1st, 2nd, 13th."""
    th = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number % 100 < 14 else th}"


class Figures:
    """Samples, the same on every machine.

    Args:
        months: their English and German names.
    """

    def __init__(self, months: Sequence[Texts]) -> None:
        self._random, self._months = random.Random(1), months

    def all(self) -> dict[str, list[Texts]]:
        """English and German figures by sort."""
        sums = [self._sum() for _ in range(_SAMPLES)]
        return {
            "money": sums,
            "dollar": [each for each in sums if each[1].endswith("Dollar")],
            "euro": [each for each in sums if each[1].endswith("Euro")],
            "count": self._counts(),
            "decimal": self._decimals(),
            "date": [self._date() for _ in range(_SAMPLES)],
            "day": [
                (f"{month} {day}", f"{day}. {monat}")
                for month, monat in self._months
                for day in range(1, 29)
            ],
            "span": [self._span() for _ in range(_SAMPLES)],
            "clock": [time for hour in range(1, 24) for time in self._times(hour)],
        }

    def _sum(self) -> Texts:
        chance = self._random
        amount = chance.randrange(2, 10 ** chance.randint(1, 6) + 2)
        cents = chance.choice(("", "", ".50", ".99", f".{chance.randrange(10, 100)}"))
        english, german = _both(f"{amount:,}{cents}")
        sign, word, wort = chance.choice(_CURRENCIES)
        before, after = f"{sign}{english}", f"{english} {word}"
        return chance.choice((before, before, after)), f"{german} {wort}"

    def _counts(self) -> list[Texts]:
        chance = self._random
        numbers = (chance.randrange(1001, 10 ** chance.randint(4, 7)) for _ in range(_SAMPLES))
        return [_both(f"{round(each, -chance.choice((0, 0, 1, 2))):,}") for each in numbers]

    def _decimals(self) -> list[Texts]:
        chance = self._random
        tenths = [f"{chance.randrange(1, 900) / 10}" for _ in range(600)]
        hundredths = [f"{chance.randrange(1, 3000) / 100:.2f}" for _ in range(300)]
        return [_both(each) for each in (*tenths, *hundredths) if not each.endswith("0")]

    def _date(self) -> Texts:
        chance = self._random
        (month, monat), day = chance.choice(self._months), chance.randrange(1, 29)
        year = chance.choice((chance.randrange(1750, 1990), chance.randrange(1990, 2031)))
        american, british = f"{month} {day}, {year}", f"{day} {month} {year}"
        long = f"{month} {ordinal(day)}, {year}"
        english = chance.choice((american, american, british, long))
        return english, f"{day}. {monat} {year}"

    def _span(self) -> Texts:
        first, last = sorted(self._random.sample(range(12 * 28), 2))
        (month, monat), (later, spaeter) = self._months[first // 28], self._months[last // 28]
        day, until = first % 28 + 1, last % 28 + 1
        start = f"{day}." if month == later else f"{day}. {monat}"
        english = f"from {month} {day} to {later} {until}"
        return english, f"vom {start} bis zum {until}. {spaeter}"

    def _times(self, hour: int) -> list[Texts]:
        in_half, half = hour % 12 or 12, "a.m." if hour < 12 else "p.m."
        minutes = (f":{minute:02}" for minute in self._random.sample(range(1, 60), 12))
        return [(f"{in_half}{past} {half}", f"{hour}{past} Uhr") for past in ("", *minutes)]
