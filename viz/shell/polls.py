"""What speakers ask a hall, and what its phones guess: numbers that are counted, and no texts.

A phone names itself by a random token and sends the number of a choice. One answer a phone counts,
the last one, until the speaker closes the question. Who a phone is stays unknown, so one machine
can pretend to be several phones: bounds on phones and on answers limit what it spoils.
"""

import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any

MOST_CHOICES = 60
"""More words are too many for a phone to tap."""

MOST_PHONES = 1000
"""Of one question."""

MOST_AT_ADDRESS = 600
"""Phones of one question behind one address, such as a hall behind one router."""

AT_ONCE, A_SECOND = 1500, 100.0
"""Requests from one address: so many at once, and then so many a second."""

OF_PHONE_AT_ONCE, OF_PHONE_A_SECOND = 10, 1.0
"""Answers of one phone, which may change its mind."""

MOST_ADDRESSES = 5000
MOST_POLLS = 50


class Refused(StrEnum):
    """Why an answer is not counted."""

    FOREIGN = "from another site"
    LARGE = "too large"
    MALFORMED = "malformed"
    UNKNOWN = "to no question"
    LATE = "too late"
    FLOOD = "too many"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer.

    Attributes:
        about: "key" for where a head looks, "word" for which word comes next.
        choices: the texts among which a phone chooses.
        truth: what the model gives each of them: a weight or a probability.
        context: the texts around what is asked about; empty if `choices` are these.
        at: which of them is asked about; their number for what follows them.
        head: kind, layer and number; None for the next word.
        named: the name of the head, or the sentence that is translated.
    """

    about: str
    choices: Sequence[str]
    truth: Sequence[float]
    context: Sequence[str]
    at: int
    head: tuple[str, int, int] | None
    named: str

    @property
    def best(self) -> int:
        """The choice that is right."""
        return max(range(len(self.truth)), key=self.truth.__getitem__)


SiteView = tuple[str, dict[str, str]]
"""A page's name and its query."""


class _Allowance:
    """So much at once, and then so much a second."""

    __slots__ = ("_at", "_left", "_most", "_per_second")

    def __init__(self, most: int, per_second: float) -> None:
        self._most, self._per_second = most, per_second
        self._left, self._at = float(most), time.monotonic()

    def takes(self) -> bool:
        """Whether there is room for one more."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(slots=True)
class _Phone:
    choice: int
    allowance: _Allowance


@dataclass(slots=True)
class Poll:
    """A question to a hall about what a page shows, with the guesses so far."""

    asked: Asked
    place: SiteView
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    is_open: bool = True
    is_shown: bool = True
    guesses: list[int] = field(init=False)
    refused: Counter[str] = field(default_factory=Counter)
    _phones: dict[str, _Phone] = field(default_factory=dict)
    _addresses: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.guesses = [0] * len(self.asked.choices)

    def take(self, phone: str, choice: int, address: str) -> Refused | None:
        """Count a phone's answer in the place of its last one; None if it counts."""
        with self._lock:
            reason = self._taken(phone, choice, address)
        if reason is not None:
            self.refused[reason] += 1
        return reason

    def _taken(self, phone: str, choice: int, address: str) -> Refused | None:
        if not self.is_open:
            return Refused.LATE
        if not 0 <= choice < len(self.guesses):
            return Refused.MALFORMED
        known = self._phones.get(phone)
        if known is None:
            if len(self._phones) >= MOST_PHONES or self._addresses[address] >= MOST_AT_ADDRESS:
                return Refused.FLOOD
            self._addresses[address] += 1
            known = _Phone(choice, _Allowance(OF_PHONE_AT_ONCE, OF_PHONE_A_SECOND))
            self._phones[phone] = known
        else:
            if not known.allowance.takes():
                return Refused.FLOOD
            self.guesses[known.choice] -= 1
            known.choice = choice
        self.guesses[choice] += 1
        return None

    def close(self) -> None:
        """Take no more answers, and forget which phone gave which."""
        with self._lock:
            self.is_open = False
            self._phones.clear()
            self._addresses.clear()

    @property
    def counts(self) -> dict[str, Any]:
        """How many guessed what, and how many answers were refused, for the stage."""
        return {"guesses": list(self.guesses), "refused": sum(self.refused.values())}

    @property
    def view(self) -> dict[str, Any]:
        """What phones and the stage show of it, with the answer once it is closed."""
        asked = self.asked
        shown: dict[str, Any] = {
            "name": self.name,
            "about": asked.about,
            "choices": list(asked.choices),
            "context": list(asked.context),
            "at": asked.at,
            "head": asked.head,
            "named": asked.named,
            "closed": None,
        }
        if not self.is_open:
            truth = [round(each, 3) for each in asked.truth]
            shown["closed"] = {"guesses": list(self.guesses), "truth": truth, "best": asked.best}
        return shown


class _Polls:
    """The question of each speaker; the oldest make room."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, Poll] = OrderedDict()
        self._addresses: OrderedDict[str, _Allowance] = OrderedDict()
        self.refused: Counter[str] = Counter()
        """Answers to speakers who never asked anything."""

    def ask(self, code: str, asked: Asked, place: SiteView) -> None:
        """Ask the phones that follow a code, in the place of what they were asked before."""
        with self._lock:
            self._kept[code] = Poll(asked, place)
            self._kept.move_to_end(code)
            while len(self._kept) > MOST_POLLS:
                self._kept.popitem(last=False)

    def of(self, code: str) -> Poll | None:
        """What a speaker asks, or asked last."""
        with self._lock:
            return self._kept.get(code)

    def at(self, code: str, place: SiteView) -> Poll | None:
        """What a speaker asks about this view; a question about another one has ended."""
        poll = self.of(code)
        if poll is not None and poll.place != place:
            self.end(code)
        return poll if poll is not None and poll.is_shown else None

    def end(self, code: str) -> None:
        """Ask nothing any more; how many answers were refused can still be read."""
        poll = self.of(code)
        if poll is not None:
            poll.close()
            poll.is_shown = False

    def has_room(self, address: str) -> bool:
        """Whether an address has not sent too much of late."""
        with self._lock:
            if address not in self._addresses:
                self._addresses[address] = _Allowance(AT_ONCE, A_SECOND)
                if len(self._addresses) > MOST_ADDRESSES:
                    self._addresses.popitem(last=False)
            return self._addresses[address].takes()

    def refuse(self, poll: Poll | None, reason: Refused) -> Refused:
        """Count an answer that is refused without being read."""
        (self.refused if poll is None else poll.refused)[reason] += 1
        return reason


POLLS = _Polls()
