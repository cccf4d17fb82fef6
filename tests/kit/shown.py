"""What a page shows, as a reader sees it, and what its address holds."""

import json
import re
from html import unescape
from typing import Any

from streamlit.testing.v1 import AppTest


def plain(markdown: str) -> str:
    """A text without what keeps it from acting as markup."""
    return re.sub("[\\\\\u2060\u2068\u2069]", "", markdown)


def warnings(app: AppTest) -> list[str]:
    """Every warning."""
    return [plain(warning.value) for warning in app.warning]


def said(app: AppTest) -> str:
    """Every warning, hint and error."""
    alerts = [*app.warning, *app.info, *app.error]
    return " ".join(plain(alert.value) for alert in alerts)


def captions(app: AppTest) -> str:
    """Every caption."""
    return " ".join(plain(caption.value) for caption in app.caption)


def more(app: AppTest) -> str:
    """Every text, with what captions keep behind More."""
    return " ".join(plain(each.value) for each in app.markdown)


def headings(app: AppTest) -> list[str]:
    """Every heading."""
    return [plain(heading.value) for heading in app.subheader]


def html(app: AppTest) -> str:
    """Every piece of HTML."""
    return unescape(" ".join(shown.proto.body for shown in app.get("html")))


def charts(app: AppTest) -> dict[str, Any]:
    """The figures by their keys."""
    return {
        re.sub(r"^\$\$ID-[0-9a-f]+-", "", each.proto.id): json.loads(each.proto.spec)
        for each in app.get("plotly_chart")
    }


def query(app: AppTest, name: str) -> str:
    """One parameter of the address; empty where it is not there."""
    found = app.query_params.get(name, "")
    return found[0] if isinstance(found, list) else found
