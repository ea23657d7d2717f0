"""One way to draw, whatever the host has: OpenGL where it works, the ray caster elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, get_args

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.errors import BackendUnavailable, DescriptionError, did_you_mean
from softgrasp.render import gl
from softgrasp.render.camera import Camera
from softgrasp.render.marks import Mark, Rgba
from softgrasp.render.raycast import RayRenderer

logger = logging.getLogger(__name__)
CHOICES = ("auto", "gl", "raycast")
Image = npt.NDArray[np.uint8]

_RAY_CASTER = "drawn by the built-in ray caster"
_failures: dict[gl.Kind, str] = {}
"""Kinds that work on this host but did not open for the last renderer asked for, and why."""


class Renderer(Protocol):
    """Draws one model; a context manager that frees what it holds.

    The model's colours and shapes are those it had when the renderer was opened. Up to
    ``threads`` pictures may be drawn at once; where it is 1, in the thread that opened it.
    """

    name: str
    note: str
    threads: int

    def draw(
        self,
        data: mujoco.MjData,
        camera: Camera,
        marks: Sequence[Mark] = (),
        colors: Mapping[int, Rgba] | None = None,
    ) -> Image:
        """Draw a state of the model.

        Args:
            data: The state, with ``mj_forward`` or ``mj_kinematics`` and ``mj_camlight`` done.
            camera: Where the picture is taken from.
            marks: Drawn over all bodies.
            colors: Colours of geoms by id, for this picture only.

        Returns:
            The picture, shape (height, width, 3), row 0 at the top.
        """
        ...

    def close(self) -> None:
        """Free what the renderer holds; closing twice does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def open_renderer(
    model: mujoco.MjModel, width: int = 640, height: int = 480, renderer: str = "auto"
) -> Renderer:
    """Open a renderer for a model.

    Args:
        model: The model; it is not changed. Geoms of groups 0, 1 and 2 are shown.
        width: Picture width in pixels.
        height: Picture height in pixels.
        renderer: ``auto`` takes EGL, else OSMesa, else the ray caster; ``gl`` takes EGL or
            OSMesa; ``raycast`` takes the ray caster, which needs no OpenGL.

    Returns:
        A context manager; its ``note`` says in one line which renderer draws.

    Raises:
        BackendUnavailable: ``gl`` was asked for and does not work.
        DescriptionError: No such renderer, or a picture of less than 2 x 2 pixels.
    """
    _refuse_unknown(renderer)
    if width < 2 or height < 2:
        raise DescriptionError(
            f"expected 2 x 2 pixels or more, found {width} x {height}", field="size"
        )
    if renderer == "raycast":
        return RayRenderer(model, width, height, f"{_RAY_CASTER}, as asked")
    _failures.clear()
    for kind in get_args(gl.Kind):
        if gl.gl_available(kind):
            try:
                return gl.GlRenderer(model, width, height, kind)
            except BackendUnavailable as error:
                logger.info("%s did not open: %s.", gl.NAMES[kind], error)
                _failures[kind] = str(error)
    return RayRenderer(model, width, height, _without_gl(renderer))


def renderer_note(renderer: str) -> str:
    """One line that says who draws; true of what was drawn where it is asked afterwards.

    It opens no renderer, so that beforehand it can only say what works on this host.

    Raises:
        BackendUnavailable: ``gl`` was asked for and does not work.
        DescriptionError: No such renderer.
    """
    _refuse_unknown(renderer)
    if renderer == "raycast":
        return f"{_RAY_CASTER}, as asked"
    for kind in get_args(gl.Kind):
        if gl.gl_available(kind) and kind not in _failures:
            return gl.note(kind)
    return _without_gl(renderer)


def _without_gl(renderer: str) -> str:
    """The note of the ray caster in OpenGL's place; refuses it where OpenGL was asked for."""
    reason = next(iter(_failures.values()), "")
    if renderer == "gl":
        raise BackendUnavailable(reason or f"renderer: expected OpenGL, {_no_gl()}")
    return f"{_RAY_CASTER}: {reason or _no_gl()}"


def _refuse_unknown(renderer: str) -> None:
    if renderer not in CHOICES:
        hint = did_you_mean(renderer, CHOICES)
        raise DescriptionError(f"expected a renderer, found '{renderer}'; {hint}", field="renderer")


def _no_gl() -> str:
    if not sys.platform.startswith("linux"):
        return "OpenGL without a screen is supported on Linux only"
    return f"no OpenGL on this host; for the faster renderer: {gl.CURE}"
