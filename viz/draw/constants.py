"""Numbers and names shared by Python and the browser, from one file."""

import json
from pathlib import Path
from typing import Any

CONSTANTS: dict[str, Any] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
