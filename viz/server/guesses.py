"""What phones guess: one address a question, to read the counts and, with POST, to answer.

An answer is {"phone": 16 hexadecimal digits, "choice": a number from 0}. It is counted or refused
(viz/shell/polls.py); nothing else of it is kept.
"""

import re

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope

from viz.server.asking import RefusedError, body_of, require_own
from viz.shell.polls import POLLS, Refused
from viz.shell.speaker_view import FOLDER

MOST_BYTES = 64

STATUS = {
    Refused.MALFORMED: 400,
    Refused.FOREIGN: 403,
    Refused.UNKNOWN: 404,
    Refused.LATE: 410,
    Refused.LARGE: 413,
    Refused.FLOOD: 429,
}
_OF_STATUS = {status: reason for reason, status in STATUS.items()}

_POLL = re.compile(rf"{FOLDER}/([0-9a-f]{{16}})/([0-9a-f]{{16}})\.json")
_PHONE = re.compile("[0-9a-f]{16}")
_NOT_KEPT = {"Cache-Control": "no-store"}


async def of_question(path: str, scope: Scope, receive: Receive) -> Response | None:
    """The response at a path of the site; None if it is no question's."""
    named = _POLL.fullmatch(path)
    if named is None:
        return None
    code, name = named.groups()
    if scope["method"] == "POST":
        reason = await _answered(code, name, scope, receive)
        return Response(status_code=STATUS[reason] if reason else 204, headers=_NOT_KEPT)
    poll = POLLS.of(code)
    if poll is None or poll.name != name:
        return Response(status_code=404, headers=_NOT_KEPT)
    return JSONResponse(poll.counts, headers=_NOT_KEPT)


async def _answered(code: str, name: str, scope: Scope, receive: Receive) -> Refused | None:
    """Why an answer is not counted; None if it is."""
    poll = POLLS.of(code)
    address, _ = scope.get("client") or ("", 0)
    if not POLLS.has_room(address):
        return POLLS.refuse(poll, Refused.FLOOD)
    if poll is None or poll.name != name:
        return POLLS.refuse(poll, Refused.UNKNOWN)
    try:
        require_own(scope)
        sent = await body_of(Request(scope, receive), MOST_BYTES)
    except RefusedError as refusal:
        return POLLS.refuse(poll, _OF_STATUS.get(refusal.status, Refused.MALFORMED))
    except ClientDisconnect:
        return POLLS.refuse(poll, Refused.MALFORMED)
    match sent:
        # True is an int.
        case {"phone": str(phone), "choice": int(choice)} if type(choice) is int:
            if _PHONE.fullmatch(phone):
                return poll.take(phone, choice, address)
    return POLLS.refuse(poll, Refused.MALFORMED)
