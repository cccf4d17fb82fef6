"""What a file says of itself: title, sentence and model, and its size on paper."""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass

from model.version import VERSION
from viz.draw.labels import escape_html, visible

MAKER = f"Headscope {VERSION}"

_CENTIMETRES = 2.54 / 96
"""One CSS pixel on paper."""

_ROOT = re.compile(r"<svg\b[^>]*>")


@dataclass(frozen=True, slots=True)
class About:
    """What a figure is of, each on one line; empty where it is of none."""

    title: str
    sentence: str
    model: str

    @classmethod
    def of(cls, title: str, sentence: str, model: str) -> About:
        """From any text."""
        return cls(*map(one_line, (title, sentence, model)))

    @property
    def author(self) -> str:
        """Who drew it."""
        return f"{MAKER}, model {self.model}" if self.model else MAKER


def one_line(text: str) -> str:
    """A text in one line, with control characters visible."""
    return " ".join(visible(text).split())


def png(file: bytes, about: About, per_inch: float) -> bytes:
    """A PNG with its metadata, and with its size: programs assume 96 pixels an inch otherwise."""
    per_metre = round(per_inch / 0.0254)
    texts = {
        "Title": about.title,
        "Author": about.author,
        "Description": about.sentence,
        "Source": about.model,
        "Software": MAKER,
    }
    chunks = [_chunk(b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1))]
    for name, text in texts.items():
        if text:
            # Neither compressed nor in a named language.
            chunks.append(_chunk(b"iTXt", name.encode() + bytes(5) + text.encode()))
    # The signature and the first chunk, which holds the size, are 33 bytes.
    return file[:33] + b"".join(chunks) + file[33:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def svg(file: bytes, about: About) -> bytes:
    """An SVG with its metadata, and with its size in centimetres."""
    text = file.decode()
    root = _ROOT.search(text)
    assert root is not None
    width, height = (
        float(re.search(rf'\b{name}="([\d.]+)(?:px)?"', root[0])[1])  # type: ignore[index]
        for name in ("width", "height")
    )
    tag = root[0] if "viewBox=" in root[0] else f'{root[0][:-1]} viewBox="0 0 {width} {height}">'
    for name, pixels in (("width", width), ("height", height)):
        size = f'{name}="{pixels * _CENTIMETRES:.5g}cm"'
        tag = re.sub(rf'\b{name}="[\d.]+(?:px)?"', size, tag, count=1)
    terms = {
        "title": about.title,
        "creator": MAKER,
        "description": about.sentence,
        "source": about.model,
        "format": "image/svg+xml",
    }
    named = "".join(
        f"<dc:{name}>{escape_html(value)}</dc:{name}>" for name, value in terms.items() if value
    )
    title = f"<title>{escape_html(about.title)}</title>" if about.title else ""
    described = f"<desc>{escape_html(about.sentence)}</desc>" if about.sentence else ""
    block = (
        '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<rdf:Description rdf:about="">{named}</rdf:Description></rdf:RDF></metadata>'
    )
    before, after = text[: root.start()], text[root.end() :]
    return f"{before}{tag}{title}{described}{block}{after}".encode()


def pdf(file: bytes, about: About) -> bytes:
    """A PDF with its metadata."""
    # Slow to import, and most files need it not.
    from pypdf import PdfWriter

    writer = PdfWriter(clone_from=io.BytesIO(file))
    keywords = f"{MAKER}, {about.model}" if about.model else MAKER
    writer.add_metadata(
        {
            "/Title": about.title,
            "/Author": about.author,
            "/Subject": about.sentence,
            "/Keywords": keywords,
            "/Creator": MAKER,
        }
    )
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()
