"""Report of a benchmark of hands: table as CSV and Markdown, HTML page, contact sheets.

A rate counts the grasps whose object fits the hand; the others stand beside it in parentheses.
"""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from softgrasp.io.files import atomic_path, write_text
from softgrasp.io.tables import cell_text
from softgrasp.report.grasp_report import embedded_image, render_html
from softgrasp.sweeps.hand_benchmark import (
    BALL,
    FILED,
    IMAGE_SIZE,
    PRIMITIVE,
    REFUSED,
    HandSource,
    Row,
    library_version,
)

CSV, MARKDOWN, REPORT, SHEET = "hands.csv", "hands.md", "report.html", "contact_sheet_{}.png"
ROWS_PER_SHEET = 8
"""Hands on one contact sheet."""
GROUPS = {
    "balls": (BALL,),
    "primitives": (BALL, PRIMITIVE),
    "objects": (FILED,),
    "all": (BALL, PRIMITIVE, FILED),
}
"""Groups of objects, each with a rate."""
SCALE = 0.5
"""Size of an image on a contact sheet over its size in the file."""
MESSAGE = 80
"""Characters of the message of a grasp without an image: its end has what was found."""
EDGE, LABEL, HEAD = 4, 150, 22
"""Border of an image, width of the names of hands, and height of those of objects [px]."""
COLORS = {"held": "#1c7f4a", "apart": "#9a9a9a", "lost": "#b3372a"}


class Rate(NamedTuple):
    """Held grasps of those whose object fits, and grasps whose object does not."""

    held: int
    fitting: int
    larger: int

    def __str__(self) -> str:
        """Format as ``9/10 (+2)``."""
        apart = f" (+{self.larger})" if self.larger else ""
        return f"{self.held}/{self.fitting}{apart}" if self.fitting or self.larger else "–"

    @property
    def fraction(self) -> float:
        """Held grasps over fitting ones; NaN without any."""
        return self.held / self.fitting if self.fitting else float("nan")


def rate_of(rows: Iterable[Row], group: str = "all") -> Rate:
    """Count the held grasps of a group of objects.

    Args:
        rows: Rows of the benchmark; those of hands that were refused do not count.
        group: One of ``GROUPS``.
    """
    chosen = [row for row in rows if row["group"] in GROUPS[group] and row["outcome"] != REFUSED]
    fitting = [row for row in chosen if row["fits"]]
    held = sum(row["held"] for row in fitting)
    return Rate(held, len(fitting), len(chosen) - len(fitting))


def write_hand_report(
    hands: Sequence[HandSource], rows: Sequence[Row], directory: Path, command: str
) -> list[Path]:
    """Write the table, the page and the contact sheets of a benchmark, and return the files.

    ``directory`` has the images of the rows; ``command`` is the command line that made them.

    Raises:
        ResultError: The directory cannot be written.
    """
    by_hand = {hand: [row for row in rows if row["hand"] == hand.name] for hand in hands}
    files = [
        write_text(directory / CSV, _csv(by_hand)),
        write_text(directory / MARKDOWN, markdown(by_hand, command)),
    ]
    sheets = _write_sheets(by_hand, directory)
    page = render_html(
        "hand_benchmark.html.j2",
        title="Benchmark of hands",
        summary=_summary(rows, len(by_hand)),
        command=command,
        objects=list(dict.fromkeys(row["object"] for row in rows)),
        hands=[_entry(hand, hand_rows) for hand, hand_rows in by_hand.items()],
        totals=[str(rate_of(rows, group)) for group in GROUPS],
        groups=list(GROUPS),
        refused=_refusals(by_hand),
        sheets=[embedded_image(sheet) for sheet in sheets],
    )
    return [*files, write_text(directory / REPORT, page), *sheets]


def markdown(by_hand: dict[HandSource, list[Row]], command: str) -> str:
    """Format the table of rates with the file and version of each hand."""
    groups = " | ".join(GROUPS)
    lines = [
        f"Made by `{command}` with softgrasp {library_version()}: held / fitting (+ larger than "
        "the opening).",
        "",
        f"| hand | source | version | opening [mm] | {groups} |",
        f"|---|---|---|---|{'---|' * len(GROUPS)}",
    ]
    every: list[Row] = []
    for hand, rows in by_hand.items():
        every += rows
        rates = " | ".join(str(rate_of(rows, group)) for group in GROUPS)
        if all(row["outcome"] == REFUSED for row in rows):
            rates = " | ".join(["refused"] * len(GROUPS))
        name = Path(hand.file).name
        lines.append(f"| {hand.name} | {name} | {hand.version} | {_opening(rows)} | {rates} |")
    rates = " | ".join(f"**{rate_of(every, group)}**" for group in GROUPS)
    lines.append(f"| **all** | | | | {rates} |")
    return "\n".join(lines) + "\n"


def _csv(by_hand: dict[HandSource, list[Row]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    rows = [(hand, row) for hand, hand_rows in by_hand.items() for row in hand_rows]
    columns = [name for name in rows[0][1] if name not in ("hand", "image")]
    writer.writerow(["hand", "origin", "version", *columns])
    for hand, row in rows:
        values = [row[name] for name in columns]
        cells = [hand.name, hand.origin, hand.version, *values]
        writer.writerow([cell_text(one) if isinstance(one, str) else one for one in cells])
    return text.getvalue()


def _summary(rows: Sequence[Row], hands: int) -> str:
    parts = []
    for group in GROUPS:
        rate = rate_of(rows, group)
        if rate.fitting:
            parts.append(f"{group} {rate.held} of {rate.fitting} ({100 * rate.fraction:.0f} %)")
    return f"{hands} hands. Held, of grasps whose object fits the hand: {', '.join(parts)}."


def _entry(hand: HandSource, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "name": hand.name,
        "version": f"{hand.origin}, {hand.version}",
        "opening": _opening(rows),
        "rates": [str(rate_of(rows, group)) for group in GROUPS],
        "cells": [
            {
                "word": row["outcome"].lower().replace("_", " "),
                "mark": _mark(row),
                "title": row["message"],
                "image": row["image"],
            }
            for row in rows
        ],
    }


def _opening(rows: Sequence[Row]) -> str:
    known = [row["opening_m"] for row in rows if row["opening_m"] is not None]
    return f"{1e3 * np.median(known):.0f}" if known else "–"


def _mark(row: Row) -> str:
    if row["held"]:
        return "held"
    return "lost" if row["fits"] and row["outcome"] != REFUSED else "apart"


def _refusals(by_hand: dict[HandSource, list[Row]]) -> list[tuple[str, str]]:
    """Return each hand that was refused with every object, with the reason."""
    return [
        (hand.name, rows[0]["message"])
        for hand, rows in by_hand.items()
        if rows and all(row["outcome"] == REFUSED for row in rows)
    ]


# Contact sheets


def _write_sheets(by_hand: dict[HandSource, list[Row]], directory: Path) -> list[Path]:
    shown = [(hand, rows) for hand, rows in by_hand.items() if any(row["image"] for row in rows)]
    files = []
    for index in range(0, len(shown), ROWS_PER_SHEET):
        file = directory / SHEET.format(index // ROWS_PER_SHEET + 1)
        sheet = _sheet(shown[index : index + ROWS_PER_SHEET], directory)
        with atomic_path(file) as temporary:
            sheet.save(temporary, "PNG")
        files.append(file)
    return files


def _sheet(shown: Sequence[tuple[HandSource, list[Row]]], directory: Path) -> Image.Image:
    """Lay out images with a row per hand and a column per object, framed by outcome."""
    width, height = (round(SCALE * side) for side in IMAGE_SIZE)
    cell = (width + 2 * EDGE, height + 2 * EDGE + HEAD)
    columns = max(len(rows) for _, rows in shown)
    size = (LABEL + columns * cell[0], HEAD + len(shown) * cell[1])
    sheet = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for column, row in enumerate(shown[0][1]):
        draw.text((LABEL + column * cell[0] + EDGE, 4), row["object"][:18], "black", font)
    for line, (hand, rows) in enumerate(shown):
        top = HEAD + line * cell[1]
        draw.text((6, top + height // 2), _wrapped(hand.name), "black", font)
        for column, row in enumerate(rows):
            left, color = LABEL + column * cell[0], COLORS[_mark(row)]
            box = (left + 1, top + 1, left + width + 2 * EDGE - 2, top + height + 2 * EDGE - 2)
            draw.rectangle(box, outline=color, width=EDGE - 1)
            if row["image"]:
                with Image.open(directory / row["image"]) as image:
                    small = image.resize((width, height), Image.Resampling.LANCZOS)
                sheet.paste(small, (left + EDGE, top + EDGE))
            else:
                text = _wrapped(row["message"][-MESSAGE:].partition(" ")[2], 17)
                draw.text((left + 2 * EDGE, top + 2 * EDGE), text, "black", font)
            word = row["outcome"].lower().replace("_", " ")
            word += "" if row["fits"] else ", larger"
            draw.text((left + EDGE, top + height + 2 * EDGE + 2), word, color, font)
    return sheet


def _wrapped(text: str, width: int = 21) -> str:
    return "\n".join(textwrap.wrap(text, width))
