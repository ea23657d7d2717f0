"""``softgrasp view``: a hand or a result in the browser."""

from __future__ import annotations

import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Argument, Option

from softgrasp.assets import MESH_SUFFIXES, ROBOT_SUFFIXES, YAML_SUFFIXES
from softgrasp.cli import terminal
from softgrasp.cli.names import kind_of, require_scene, with_article
from softgrasp.cli.options import MESH_HAND, GraspName, Json, SceneOptions, with_scene_options
from softgrasp.errors import DescriptionError
from softgrasp.io.files import RESULT_FILE

if TYPE_CHECKING:
    from softgrasp.description.scene import GraspScene
    from softgrasp.viewer.page import Page
    from softgrasp.viewer.scene_markers import Choices, MakeScene
    from softgrasp.viewer.views import ResultView, Workbench

    Show = Callable[[Page], ResultView | Workbench]
    """Shows a hand or a result on a page."""

LOOPBACK = "127.0.0.1"
HTML = (".html", ".htm")
HANDS = ("hand", "robot")
"""Kinds that are shown as hands."""


@with_scene_options("units", "density", "position", "euler_deg", "hand_euler_deg", *MESH_HAND)
def view(
    first: Annotated[
        str,
        Argument(
            metavar="HAND|RESULT_DIR", help="Name or file of a hand, or a directory with a result."
        ),
    ],
    second: Annotated[
        str | None,
        Argument(metavar="OBJECT", help="Name or file of an object in front of the hand."),
    ] = None,
    *,
    options: SceneOptions,
    port: Annotated[
        int, Option(min=0, max=65535, metavar="N", help="First port to try; 0 for any free one.")
    ] = 8080,
    save: Annotated[
        Path | None,
        Option(
            "--save",
            "--out",
            "-o",
            metavar="FILE.html",
            help="Write the animated scene as one file, and exit.",
        ),
    ] = None,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open a browser where there is a screen.")
    ] = True,
    json: Json = False,
) -> None:
    """Show a hand, alone or with an object, or a finished run, in the browser.

    Sliders move a hand's joints, and a form starts grasps. A run is played with contacts, forces
    and curves. The page can be reached from this machine only (from another one by ssh -L), until
    Ctrl-C ends it.
    """
    if save is not None and save.suffix.lower() not in HTML:
        raise DescriptionError(f"--save: expected a file name ending in .html, found '{save}'")
    if save is not None and not save.absolute().parent.is_dir():
        raise DescriptionError(
            f"--save: expected a file in an existing directory, found no '{save.parent}'"
        )
    if not is_result(first):
        _require_hand(first, second, is_finger=options.fingers is not None)
    from softgrasp.viewer.page import require_viser

    require_viser()
    show: Show
    if is_result(first):
        if second is not None or options.changed:
            raise DescriptionError(
                f"{first}: expected nothing after the directory of a result, found an OBJECT or "
                "options of a scene"
            )
        show = _showing_result(Path(first))
    else:
        show = _showing_hand(*hand_choices(first, second, options))
    _serve(show, save, port=0 if save else port, browser=browser, json=json)


def _showing_result(directory: Path) -> Show:
    from softgrasp.evaluation.result_files import load_result
    from softgrasp.report.grasp_text import summary
    from softgrasp.viewer.views import ResultView

    result = load_result(directory)
    return lambda page: ResultView(page, result, summary(result))


def _showing_hand(choices: Choices, make_scene: MakeScene) -> Show:
    from softgrasp.report.grasp_text import summary
    from softgrasp.viewer.views import Workbench

    return lambda page: Workbench(page, choices, make_scene, summary)


def _serve(show: Show, save: Path | None, *, port: int, browser: bool, json: bool) -> None:
    from softgrasp.viewer.page import Page

    with Page("softgrasp", port) as page:
        content = show(page)
        if save is not None:
            file = content.save(save)
            if json:
                terminal.put_document({}, [file])
            else:
                terminal.put(f"wrote {file}")
            return
        if json:
            terminal.put_json({"url": page.url, "host": LOOPBACK, "port": page.port})
        else:
            terminal.put(f"{page.words}; Ctrl-C ends it")
        if browser and not has_display():
            terminal.note(
                "found no screen here; from another machine: "
                f"ssh -L {page.port}:127.0.0.1:{page.port} {socket.gethostname()}, then open "
                f"http://127.0.0.1:{page.port} there"
            )
        elif browser and not webbrowser.open(page.url):
            terminal.note("found no browser that could be opened; --no-browser leaves it closed")
        with suppress(KeyboardInterrupt):
            content.serve()
        terminal.note("closed the page")


def has_display() -> bool:
    """Return whether windows can be opened, according to the environment."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def is_result(word: str) -> bool:
    """Return whether an argument names a result: ``result.json`` or its directory."""
    path = Path(word)
    if path.name == RESULT_FILE or path.is_dir():
        return True
    return len(path.parts) > 1 and not path.suffix and not path.exists()


def _require_hand(hand: str, object_name: str | None, *, is_finger: bool) -> None:
    """Refuse names that are neither a hand, or the mesh of a finger, nor an object.

    Raises:
        DescriptionError: ``hand`` names no hand, or there is no such object.
    """
    kind = kind_of(hand)
    if kind == "mesh" and is_finger and object_name is None:
        raise DescriptionError(
            "--fingers: expected an OBJECT, whose width determines the opening, found none"
        )
    if kind not in HANDS and not (kind == "mesh" and is_finger):
        hint = {
            "object": f"; name the hand first: softgrasp view four_finger {hand}",
            "scene": f"; simulate it first: softgrasp grasp {hand} --out DIR",
            "mesh": "; that of a soft finger makes a hand with --fingers N",
        }.get(kind, "")
        raise DescriptionError(
            f"{hand}: expected a hand or the directory of a result, found {with_article(kind)}"
            f"{hint}"
        )
    if object_name is not None:
        require_scene(hand, object_name)


def hand_choices(
    hand: str, object_name: str | None, options: SceneOptions
) -> tuple[Choices, MakeScene]:
    """Return the initial selection of hand and object, and the function that makes scenes.

    Raises:
        DescriptionError: There is an option of the object without an object.
    """
    from softgrasp.cli.scene_args import scene_of
    from softgrasp.viewer.scene_markers import Choices

    for name in ("density", "position", "euler_deg"):
        if object_name is None and getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise DescriptionError(f"{option}: expected an OBJECT with it, found none")

    def make_scene(choices: Choices) -> GraspScene:
        suffixes = {Path(name or "").suffix.lower() for name in (choices.object, choices.hand)}
        has_units = suffixes & {*MESH_SUFFIXES, *ROBOT_SUFFIXES, *YAML_SUFFIXES}
        other: dict[str, Any] = {} if choices.hand == hand else dict.fromkeys(MESH_HAND)
        changed = replace(
            options,
            units=options.units if has_units else None,
            density=choices.density,
            grasp=cast("GraspName | None", choices.grasp),
            friction=choices.friction,
            closure=choices.closure,
            gravity=choices.gravity or None,
            hold=choices.hold or None,
            **other,
        )
        return scene_of(choices.hand, choices.object, changed)

    words = []
    for name in ("position", "euler_deg", "hand_euler_deg", "units", *MESH_HAND):
        if (value := getattr(options, name)) is None:
            continue
        text = f"{value:g}" if isinstance(value, float) else str(value)
        if isinstance(value, tuple):
            text = ("," if name in ("base", "valleys") else " ").join(f"{n:g}" for n in value)
        words.append(f"--{name.replace('_', '-')} {text}")
    further = " ".join(words)
    first = Choices(hand=hand, object=object_name, density=options.density, further_options=further)
    return first, make_scene
