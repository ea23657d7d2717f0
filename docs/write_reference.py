"""Write the pages of the reference from the public names: `python docs/write_reference.py`.

A page a room, a heading a name; the text comes from the docstrings when the site is built.
"""

import sys
from pathlib import Path

import softgrasp

FOLDER = Path(__file__).resolve().parent / "reference"
ROOMS = {
    "description": "What there is: hands, objects, contacts, closures, scenes, as frozen values.",
    "formats": "Files to descriptions and back.",
    "build": "Descriptions to MuJoCo models.",
    "simulation": "Runs, and what came out.",
    "mechanics": "Mathematics on arrays, without an engine.",
    "analysis": "A result at an instant: matrices, stiffness, measures.",
    "inspection": "What is odd about hands, objects and robots, and repairs.",
    "calibration": "Measurements to parameters.",
    "control": "Controllers of continuum robots.",
    "crosschecks": "One scene in several engines.",
    "sweeps": "Many grasps from one plan.",
    "environments": "Scenes for learning.",
    "render": "Film.",
    "report": "Figures and pages.",
    "twin": "The digital twin of a pneumatic gripper.",
    "view": "Looking at hands and results in a browser.",
    "errors": "What goes wrong, as exceptions and warnings.",
}
"""Rooms of ARCHITECTURE.md that have public names, in the order of the index."""


def pages() -> dict[str, str]:
    """Text of every page by its file name."""
    rooms: dict[str, list[str]] = {}
    for position, names in softgrasp._PACKAGES.items():
        room = position.split(".")[0]
        for name in names:
            # a module is shown as what it is, with all that it exports
            own = f"softgrasp.{position}.{name}" if position == "mechanics" else f"softgrasp.{name}"
            rooms.setdefault(room, []).append(own)
    unknown = rooms.keys() - ROOMS.keys()
    if unknown:
        sys.exit(f"no sentence about {', '.join(sorted(unknown))} in docs/write_reference.py")
    result = {"index.md": _index(rooms)}
    for room, names in rooms.items():
        blocks = [f"::: {name}\n" for name in sorted(names, key=str.lower)]
        result[f"{room}.md"] = f"# {room.capitalize()}\n\n{ROOMS[room]}\n\n" + "\n".join(blocks)
    return result


def _index(rooms: dict[str, list[str]]) -> str:
    lines = [
        "# Reference",
        "",
        "Everything public is a name of `softgrasp` (`import softgrasp as sg`), loaded when it is",
        "first used. Other modules may change without notice.",
        "",
        "| room | holds | names |",
        "|---|---|---|",
    ]
    for room, words in ROOMS.items():
        if room in rooms:
            names = sorted((name.rsplit(".", 1)[-1] for name in rooms[room]), key=str.lower)
            listed = ", ".join(f"`{name}`" for name in names)
            lines.append(f"| [{room}]({room}.md) | {words} | {listed} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
