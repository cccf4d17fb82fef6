"""What phones answer a speaker: counted once a phone while the question is open, else refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from viz.server.guesses import MOST_BYTES, STATUS
from viz.server.server import SecurityHeaders
from viz.server.site_from_memory import Hall
from viz.shell import polls
from viz.shell.polls import POLLS, Asked, Poll, Refused

CODE = f"{1:016x}"
OWN = {"Origin": "http://testserver"}
ASKED = Asked("key", ["He", "sat", "."], [0.1, 0.7, 0.2], [], 1, ("encoder", 0, 1), "the head")
PLACE = ("heads", {"cell": "1.0"})


@pytest.fixture
def poll() -> Iterator[Poll]:
    """A question that was just asked."""
    POLLS.__init__()  # type: ignore[misc]
    POLLS.ask(CODE, ASKED, PLACE)
    asked = POLLS.of(CODE)
    assert asked is not None
    yield asked
    POLLS.end(CODE)


def hall(address: str = "192.0.2.1") -> TestClient:
    """What a phone behind an address reaches."""
    app = SecurityHeaders(Hall(PlainTextResponse("from Streamlit")))
    return TestClient(app, client=(address, 50_000))


def path(poll: Poll) -> str:
    return f"/site/speaker/{CODE}/{poll.name}.json"


def answer(poll: Poll, phone: int, choice: Any, client: TestClient | None = None) -> int:
    body = {"phone": f"{phone:016x}", "choice": choice}
    return (client or hall()).post(path(poll), json=body, headers=OWN).status_code


def test_the_last_answer_of_each_phone_counts(poll: Poll) -> None:
    assert [answer(poll, *each) for each in ((1, 0), (2, 2), (1, 1), (1, 1))] == [204] * 4
    told = hall().get(path(poll))
    assert told.json() == {"guesses": [0, 1, 1], "refused": 0}
    assert told.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in told.headers["content-security-policy"]


def test_five_hundred_phones_behind_one_address_are_counted(poll: Poll) -> None:
    client = hall()
    assert {answer(poll, phone, phone % 3, client) for phone in range(500)} == {204}
    assert {answer(poll, phone, 1, client) for phone in range(500)} == {204}
    assert poll.counts == {"guesses": [0, 500, 0], "refused": 0}


def test_one_address_cannot_invent_phones_without_end(
    poll: Poll, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polls, "MOST_AT_ADDRESS", 5)
    monkeypatch.setattr(polls, "MOST_PHONES", 8)
    one, other = hall(), hall("192.0.2.2")
    assert [answer(poll, phone, 0, one) for phone in range(7)] == [204] * 5 + [429] * 2
    assert [answer(poll, 10 + phone, 1, other) for phone in range(5)] == [204] * 3 + [429] * 2
    # Those that are known may still change their mind.
    assert answer(poll, 0, 2, one) == 204
    assert poll.counts == {"guesses": [4, 3, 1], "refused": 4}
    assert poll.refused == {Refused.FLOOD: 4}


def test_a_flood_of_one_phone_or_address_is_refused(
    poll: Poll, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polls, "OF_PHONE_A_SECOND", 0)
    taken = [answer(poll, 1, choice % 3) for choice in range(polls.OF_PHONE_AT_ONCE + 4)]
    assert taken == [204] * (polls.OF_PHONE_AT_ONCE + 1) + [429] * 3
    monkeypatch.setattr(polls, "A_SECOND", 0)
    monkeypatch.setattr(polls, "AT_ONCE", 3)
    flood = hall("192.0.2.3")
    assert [answer(poll, 2, 0, flood) for _ in range(4)] == [204] * 3 + [429]
    # Nothing of the flood is even read; others are not in its way.
    assert flood.post(path(poll), content=b"x").status_code == 429
    assert answer(poll, 3, 0) == 204


def test_room_comes_back_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(polls.time, "monotonic", lambda: now[0])
    allowance = polls._Allowance(2, 0.5)
    assert [allowance.takes() for _ in range(3)] == [True, True, False]
    now[0] += 2
    assert [allowance.takes() for _ in range(2)] == [True, False]


@pytest.mark.parametrize("choice", [-1, 3, 1.0, "1", True, None, [1], 10**12])
def test_a_choice_is_a_number_that_is_offered(poll: Poll, choice: Any) -> None:
    assert answer(poll, 1, choice) == STATUS[Refused.MALFORMED]
    assert poll.counts == {"guesses": [0, 0, 0], "refused": 1}


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"1", b"[]", b"{", b'{"choice": 1}', b'{"phone": "00", "choice": 1}'),
        *(b'{"phone": "<b>000000000000</b>", "choice": 1}', b'{"phone": 1, "choice": 1}'),
    ],
)
def test_what_is_no_answer_is_refused(poll: Poll, body: bytes) -> None:
    headers = {**OWN, "Content-Type": "application/json"}
    assert hall().post(path(poll), content=body, headers=headers).status_code == 400
    assert poll.refused == {Refused.MALFORMED: 1}


def test_a_large_body_is_not_read(poll: Poll) -> None:
    headers = {**OWN, "Content-Type": "application/json"}
    large = b'{"phone": "0000000000000001", "choice": 1}'.ljust(MOST_BYTES + 1)
    assert hall().post(path(poll), content=large, headers=headers).status_code == 413
    assert poll.counts == {"guesses": [0, 0, 0], "refused": 1}


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "https://example.org"}, {"Sec-Fetch-Site": "cross-site", **OWN}],
)
def test_other_sites_cannot_answer(poll: Poll, headers: dict[str, str]) -> None:
    body = {"phone": f"{1:016x}", "choice": 1}
    refused = hall().post(path(poll), json=body, headers=headers)
    assert refused.status_code == 403
    assert refused.content == b""
    assert poll.refused == {Refused.FOREIGN: 1}


def test_what_comes_after_the_question_is_closed_does_not_count(poll: Poll) -> None:
    answer(poll, 1, 1)
    poll.close()
    assert answer(poll, 1, 2) == answer(poll, 2, 2) == 410
    assert poll.counts == {"guesses": [0, 1, 0], "refused": 2}
    assert not poll._phones, "who guessed what is forgotten"
    POLLS.end(CODE)
    assert answer(poll, 3, 0) == 410
    POLLS.ask(CODE, ASKED, PLACE)
    # It was an answer to the question before.
    assert answer(poll, 4, 0) == 404
    latest = POLLS.of(CODE)
    assert latest is not None
    assert latest.counts == {"guesses": [0, 0, 0], "refused": 1}


def test_answers_to_nobody_are_refused_and_counted(poll: Poll) -> None:
    elsewhere = path(poll).replace(CODE, f"{2:016x}")
    sent = hall().post(elsewhere, json={"phone": f"{1:016x}", "choice": 1}, headers=OWN)
    assert sent.status_code == 404
    assert hall().get(elsewhere).status_code == 404
    assert POLLS.refused == {Refused.UNKNOWN: 1}


def test_the_truth_is_told_only_once_it_is_closed(poll: Poll) -> None:
    assert poll.view["closed"] is None
    assert "0.7" not in json.dumps(poll.view)
    answer(poll, 1, 2)
    poll.close()
    assert poll.view["closed"] == {"guesses": [0, 0, 1], "truth": [0.1, 0.7, 0.2], "best": 1}


def test_another_view_ends_the_question(poll: Poll) -> None:
    assert POLLS.at(CODE, PLACE) is poll
    assert POLLS.at(CODE, ("heads", {"cell": "2.0"})) is None
    assert POLLS.at(CODE, PLACE) is None
    assert not poll.is_open


def test_the_oldest_questions_make_room(poll: Poll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls, "MOST_POLLS", 2)
    for code in range(2, 4):
        POLLS.ask(f"{code:016x}", ASKED, PLACE)
    assert POLLS.of(CODE) is None
    assert answer(poll, 1, 1) == 404
