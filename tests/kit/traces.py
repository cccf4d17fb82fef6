"""Saved traces of a decoder alone and of an encoder alone, and hostile files."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

DECODER_WORDS = ["The", "cat", "<b>", "down"]
ENCODER_WORDS = ["[CLS]", "a", "cat", "[MASK]", "[SEP]"]


def entries(words: list[str], kind: str, *, layers: int = 2, heads: int = 3) -> dict[str, Any]:
    """The arrays of a trace of one text."""
    n = len(words)
    allowed = np.tril(np.ones((n, n), dtype=bool)) if kind == "decoder" else np.ones((n, n), bool)
    side = "target" if kind == "decoder" else "source"
    arrays: dict[str, Any] = {
        "format": np.array("headscope-trace-2"),
        f"{side}.tokens": np.array(words),
    }
    random = np.random.default_rng(0)
    for layer in range(layers):
        weights = np.where(allowed, np.exp(random.normal(size=(heads, n, n))), 0)
        weights /= weights.sum(axis=-1, keepdims=True)
        arrays[f"{kind}.{layer}.weights"] = weights.astype(np.float32)
        arrays[f"{kind}.{layer}.allowed"] = allowed
    arrays["contents"] = np.array(sorted(arrays))
    return arrays


def packed(arrays: dict[str, Any]) -> bytes:
    """Arrays as the content of a file."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=True, **arrays)
    return file.getvalue()


DECODER = packed(entries(DECODER_WORDS, "decoder") | {"source_text": np.array("The cat <b> down")})
ENCODER = packed(entries(ENCODER_WORDS, "encoder"))


def write_traces(folder: Path) -> None:
    """Both in a folder, as gpt.npz and bert.npz."""
    (folder / "gpt.npz").write_bytes(DECODER)
    (folder / "bert.npz").write_bytes(ENCODER)


def _huge() -> bytes:
    """A header that promises more than the file could hold."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (900000000000,), }"
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("format.npy", npy)
    return file.getvalue()


def _bomb() -> bytes:
    """A small file whose arrays take 300 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("format.npy", bytes(300_000_000))
    return file.getvalue()


def _wrong_shapes() -> bytes:
    arrays = entries(DECODER_WORDS, "decoder")
    return packed(arrays | {"decoder.0.weights": arrays["decoder.0.weights"][:, :2]})


def _differing_layers() -> bytes:
    arrays = entries(DECODER_WORDS, "decoder")
    return packed(arrays | {"decoder.0.weights": arrays["decoder.0.weights"][:2]})


class Ran:
    """What a pickle makes when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('a pickle was run')",)


HOSTILE = {
    "nothing": (b"", "damaged or is no saved trace"),
    "text": (b"hello", "damaged or is no saved trace"),
    "truncated": (DECODER[: len(DECODER) // 2], "damaged or is no saved trace"),
    "a huge header": (_huge(), "damaged or is no saved trace"),
    "a bomb": (_bomb(), "its arrays hold more than 256 MiB"),
    "a pickle": (pickle.dumps(Ran()), "damaged or is no saved trace"),
    "pickled objects": (
        packed({"format": np.array([Ran()], dtype=object)}),
        "holds Python objects",
    ),
    "wrong shapes": (_wrong_shapes(), "decoder.0 have the shape"),
    "differing layers": (_differing_layers(), "layers of decoder self-attention differ"),
    "not a number": (
        packed(
            entries(DECODER_WORDS, "decoder") | {"decoder.0.weights": np.full((3, 4, 4), np.nan)}
        ),
        "contain NaN",
    ),
}
"""Files that are no trace, with what is said of each."""
