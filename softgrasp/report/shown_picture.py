"""Pictures and films as a page holds them: inside it, so that it needs no other file."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import NamedTuple

from softgrasp.report.style import WIDTH

LARGE = 400_000
"""Bytes above which a PNG is a photograph or a drawing of the engine rather than of lines."""
QUALITY = 90
"""Of WebP, of 100: a tenth of the PNG's size with no difference to be seen."""
EDGE = 0.95
"""Share of the page's width above which a picture fills it."""


class EmbeddedImage(NamedTuple):
    """A picture as a page holds it.

    Attributes:
        source: Its data URL.
        files: The files beside the page that hold it and its numbers.
        share: Its width over that of the page, at most 1, so that letters are alike in all figures.
    """

    source: str
    files: str
    fraction: float


def embedded_image(path: Path, *, smaller: int = 1) -> EmbeddedImage:
    """A PNG for a page: its data URL, its name, and that of its numbers where there are any.

    Args:
        path: The picture; the file keeps all its pixels, the page has photographs as WebP.
        smaller: Its width over the width on the page. For pages with so many figures that they
            would be too large to send.
    """
    from PIL import Image

    numbers = path.with_suffix(".csv")
    files = f"{path.name}, {numbers.name}" if numbers.exists() else path.name
    content, kind = path.read_bytes(), "image/png"
    with Image.open(io.BytesIO(content)) as image:
        inch = image.info.get("dpi", (image.width / WIDTH,))[0]
        width_fraction = image.width / inch / WIDTH
        stream = io.BytesIO()
        if smaller > 1:
            image.convert("RGB").reduce(smaller).save(stream, "PNG")
            content = stream.getvalue()
        elif len(content) > LARGE:
            image.convert("RGB").save(stream, "WEBP", quality=QUALITY)
            content, kind = stream.getvalue(), "image/webp"
    return EmbeddedImage(
        data_url(content, kind), files, width_fraction if width_fraction < EDGE else 1.0
    )


def embedded(path: Path, kind: str) -> str:
    """A file as a data URL."""
    return data_url(path.read_bytes(), kind)


def data_url(content: bytes, kind: str) -> str:
    """Bytes as a data URL."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
