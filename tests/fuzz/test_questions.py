"""Any question that a program could send in place of the model's picture."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asking import ABOUT, OWN, QUESTIONS, client, require_refused
from tests.kit.fuzz import altered, cases, damaged, limits
from viz.browser.asking import ADDRESS, asks

SENT = [
    {**asks("toy-reverse", "a b c", target="c b a", snapshot=None), **asked} for asked in QUESTIONS
]


pytestmark = pytest.mark.usefixtures("no_process")


def require_settled(body: bytes | str) -> None:
    """That a body is answered, or refused in a sentence for what is wrong with it."""
    headers = {**OWN, "Content-Type": "application/json"}
    with limits(seconds=20, megabytes=500):
        answer = client().post(f"/{ADDRESS}", content=body, headers=headers)
    if answer.status_code != 200:
        assert answer.status_code in (400, 404, 413)
        require_refused(answer, answer.status_code)


@cases(4000)
@given(st.sampled_from(SENT).flatmap(altered))
def test_an_altered_question_is_answered_or_refused(sent: Any) -> None:
    require_settled(json.dumps(sent))


@cases(2000)
@given(st.sampled_from([json.dumps({**ABOUT, **each}).encode() for each in SENT]).flatmap(damaged))
def test_a_damaged_body_is_answered_or_refused(body: bytes) -> None:
    require_settled(body)
