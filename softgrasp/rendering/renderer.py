"""Off-screen rendering of MuJoCo models: OpenGL where it works, else the ray caster.

``open_renderer`` tries EGL, then OSMesa, then the software renderer. Whether OpenGL works is tested
in a child process, because a faulty driver can terminate the process that loads it. ``MUJOCO_GL``
is ignored.
"""

from __future__ import annotations

import atexit
import copy
import importlib
import logging
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, get_args

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.errors import BackendUnavailable, DescriptionError, did_you_mean
from softgrasp.rendering import camera as extents
from softgrasp.rendering import camera as lighting
from softgrasp.rendering.camera import Camera
from softgrasp.rendering.overlay import Mark, Rgba, draw_marks
from softgrasp.rendering.raycaster import RayRenderer
from softgrasp.rendering.shading import has_skybox, sky_of

Image = npt.NDArray[np.uint8]

Kind = Literal["egl", "osmesa"]

NAMES: dict[Kind, str] = {"egl": "EGL", "osmesa": "OSMesa"}
CURE = "sudo apt install libgl1 libegl1 libgl1-mesa-dri"
PROBE_SECONDS = 30.0
SHADOW_PIXELS, SAMPLES = 1024, 4
"""MuJoCo's default shadow map of 4096 takes most of a frame's time on a software driver."""
SLICES, STACKS = 20, 10
"""Sides of a round body: at 60 pixels across, a third of a pixel from round; a software driver
draws a tenth faster than with MuJoCo's 28 and 16."""
MAX_GEOMS = 10_000
NEAR_DISTANCES = 0.02
"""Nearest depth drawn, in camera distances."""
_OPENING_ERRORS = (ImportError, AttributeError, RuntimeError, OSError, mujoco.FatalError)

logger = logging.getLogger(__name__)
CHOICES = ("auto", "gl", "raycast")

_RAY_CASTER = "drawn by the built-in ray caster"
_failures: dict[Kind, str] = {}
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
    for kind in get_args(Kind):
        if gl_available(kind):
            try:
                return GlRenderer(model, width, height, kind)
            except BackendUnavailable as error:
                logger.info("%s did not open: %s.", NAMES[kind], error)
                _failures[kind] = str(error)
    return RayRenderer(model, width, height, _without_gl(renderer))


def _refuse_unknown(renderer: str) -> None:
    if renderer not in CHOICES:
        hint = did_you_mean(renderer, CHOICES)
        raise DescriptionError(f"expected a renderer, found '{renderer}'; {hint}", field="renderer")


def _without_gl(renderer: str) -> str:
    """The note of the ray caster in OpenGL's place; refuses it where OpenGL was asked for."""
    reason = next(iter(_failures.values()), "")
    if renderer == "gl":
        raise BackendUnavailable(reason or f"renderer: expected OpenGL, {_no_gl()}")
    return f"{_RAY_CASTER}: {reason or _no_gl()}"


def _no_gl() -> str:
    if not sys.platform.startswith("linux"):
        return "OpenGL without a screen is supported on Linux only"
    return f"no OpenGL on this host; for the faster renderer: {CURE}"


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
    for kind in get_args(Kind):
        if gl_available(kind) and kind not in _failures:
            return note(kind)
    return _without_gl(renderer)


@cache
def gl_available(kind: Kind) -> bool:
    """Whether a pixel can be drawn with this kind of OpenGL; asked once a process.

    Another process draws it, because a bad driver can end the process that loads it.
    """
    if not sys.platform.startswith("linux"):
        return False
    probe = Path(__file__).with_name("_gl_probe.py")
    environment = {**os.environ, "MUJOCO_GL": "disabled"}
    try:
        answer = subprocess.run(
            [sys.executable, "-P", str(probe), kind],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0


def note(kind: Kind) -> str:
    """One line for the user about how pictures are drawn."""
    return f"drawn with OpenGL ({NAMES[kind]})"


class GlRenderer:
    """Draws one model with OpenGL; the model itself is not changed.

    Args:
        model: The model; a copy with its own visual settings is drawn.
        width: Picture width in pixels.
        height: Picture height in pixels.
        kind: Which off-screen context to open.

    Raises:
        BackendUnavailable: The context cannot be opened in this process.
    """

    def __init__(self, model: mujoco.MjModel, width: int, height: int, kind: Kind) -> None:
        self.name, self.note = NAMES[kind], note(kind)
        self.threads = 1
        # Without a skybox the background is put in afterwards, pixel by pixel: edges are then
        # smoothed by drawing at twice the size instead of by multisampling.
        self._scale = 1 if has_skybox(model) else 2
        self._size = width, height
        self._sky = sky_of(model)
        self._source = copy.copy(model)
        self._model = _prepared(model, width * self._scale, height * self._scale)
        self._colors = model.geom_rgba.copy()
        self._scene = mujoco.MjvScene(self._model, maxgeom=MAX_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0
        self._context, self._drawing = _open_context(self._model, kind)
        atexit.register(self.close)

    def __enter__(self) -> GlRenderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the OpenGL context; closing twice does nothing."""
        if self._context is None:
            return
        # Before the driver's own exit handler: a context freed after it prints an exception.
        atexit.unregister(self.close)
        self._context.make_current()
        self._drawing.free()
        self._context.free()
        self._context = None

    def draw(
        self,
        data: mujoco.MjData,
        camera: Camera,
        marks: Sequence[Mark] = (),
        colors: Mapping[int, Rgba] | None = None,
    ) -> Image:
        """A picture of this state, shape (height, width, 3); see ``Renderer.draw``."""
        self._model.geom_rgba[:] = self._colors
        for geom, rgba in (colors or {}).items():
            self._model.geom_rgba[geom] = rgba
        self._model.skin_rgba[:] = extents.skin_colors(self._source, colors or {})
        self._update_scene(data, camera)
        image = self._read(camera)
        draw_marks(image, camera, marks)
        return image

    def _update_scene(self, data: mujoco.MjData, camera: Camera) -> None:
        model, view = self._model, mujoco.MjvCamera()
        center, reach = extents.bounding_ball(model, data)
        model.stat.center, model.stat.extent = center, reach
        model.vis.global_.fovy = camera.fovy_deg
        model.vis.map.znear = NEAR_DISTANCES * camera.distance / reach
        model.vis.map.zfar = lighting.HORIZON_DISTANCES * camera.distance / reach
        view.lookat, view.distance = camera.lookat, camera.distance
        view.azimuth, view.elevation = camera.azimuth_deg, camera.elevation_deg
        every = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(model, data, self._option, None, view, every, self._scene)
        lighting.aim_lights(self._scene, camera, center, reach)
        self._drawing.shadowClip = reach

    def _read(self, camera: Camera) -> Image:
        width, height = (self._scale * side for side in self._size)
        view = mujoco.MjrRect(0, 0, width, height)
        image = np.empty((height, width, 3), dtype=np.uint8)
        depth = np.empty((height, width), dtype=np.float32)
        self._context.make_current()
        mujoco.mjr_render(view, self._scene, self._drawing)
        if self._scale == 1:
            mujoco.mjr_readPixels(image, None, view, self._drawing)
            return np.ascontiguousarray(image[::-1])
        mujoco.mjr_readPixels(image, depth, view, self._drawing)
        return self._with_sky(image[::-1], depth[::-1] == 0.0, camera)

    def _with_sky(self, image: Image, empty: npt.NDArray[np.bool_], camera: Camera) -> Image:
        height, width = empty.shape
        rows, columns = np.nonzero(empty)
        rays = camera.rays(columns + 0.5, rows + 0.5, width, height)
        image[empty] = np.rint(255.0 * self._sky.along(rays)).astype(np.uint8)
        quarters = image.reshape(height // 2, 2, width // 2, 2, 3)
        mean = quarters.mean(axis=(1, 3), dtype=np.float32)
        return np.asarray(np.rint(mean), dtype=np.uint8)


def _prepared(model: mujoco.MjModel, width: int, height: int) -> mujoco.MjModel:
    prepared = extents.drawing_copy(model)
    prepared.vis.global_.offwidth, prepared.vis.global_.offheight = width, height
    prepared.vis.quality.shadowsize = SHADOW_PIXELS
    prepared.vis.quality.numslices, prepared.vis.quality.numstacks = SLICES, STACKS
    prepared.vis.quality.offsamples = SAMPLES if has_skybox(model) else 0
    lighting.complete_headlight(prepared)
    return prepared


def _open_context(model: mujoco.MjModel, kind: Kind) -> tuple[Any, Any]:
    try:
        base = importlib.import_module(f"mujoco.{kind}").GLContext
        # Freed by close() only: the base class frees once more when collected, at exit too late.
        owned = type("OwnedContext", (base,), {"__del__": _leave_to_close})
        context = owned(model.vis.global_.offwidth, model.vis.global_.offheight)
        context.make_current()
        drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    except _OPENING_ERRORS as error:
        raise BackendUnavailable(
            f"{NAMES[kind]} works on this host but not in this process: {error}"
        ) from error
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, drawing)
    drawing.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR.value
    return context, drawing


def _leave_to_close(context: object) -> None:
    """Stands in for a context's ``__del__``."""
