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
from typing import Any, Literal, get_args

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.errors import BackendUnavailable, DescriptionError, did_you_mean
from softgrasp.rendering.camera import (
    HORIZON_DISTANCES,
    Camera,
    aim_lights,
    bounding_ball,
    complete_headlight,
    drawing_copy,
    skin_colors,
)
from softgrasp.rendering.overlay import Image, Mark, Renderer, Rgba, draw_marks
from softgrasp.rendering.raycaster import RayRenderer
from softgrasp.rendering.shading import has_skybox, sky_of

Kind = Literal["egl", "osmesa"]

NAMES: dict[Kind, str] = {"egl": "EGL", "osmesa": "OSMesa"}
INSTALL_COMMAND = "sudo apt install libgl1 libegl1 libgl1-mesa-dri"

SHADOW_PIXELS, SAMPLES = 1024, 4
"""Shadow-map size and multisampling; MuJoCo's default map of 4096 dominates the frame time of a
software driver."""
SLICES, STACKS = 36, 16
"""Subdivision of round bodies: within a pixel at a diameter of 500 pixels, and a tenth slower than
20 and 10, which show corners, with a software driver."""
MAX_GEOMS = 10_000
NEAR_DISTANCES = 0.02
"""Near clipping plane, in camera distances."""
_OPENING_ERRORS = (ImportError, AttributeError, RuntimeError, OSError, mujoco.FatalError)

logger = logging.getLogger(__name__)
CHOICES = ("auto", "gl", "raycast")

_PROBE = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 8, 8) as renderer:
    renderer.update_scene(data)
    raise SystemExit(not renderer.render()[4, 4].any())
"""
"""Program that fails where the centre of a rendered sphere is black, or OpenGL does not work."""
_RAY_CASTER = "drawn by the built-in ray caster"
_failures: dict[Kind, str] = {}
"""Contexts that work on this host but did not open for the last renderer, with the reason."""


def open_renderer(
    model: mujoco.MjModel, width: int = 640, height: int = 480, renderer: str = "auto"
) -> Renderer:
    """Open a renderer for a model.

    Args:
        model: The model; it is not changed. Geoms of groups 0, 1 and 2 are visible.
        width: Image width [px].
        height: Image height [px].
        renderer: ``auto`` selects EGL, else OSMesa, else the ray caster; ``gl`` selects EGL or
            OSMesa; ``raycast`` selects the ray caster, which needs no OpenGL.

    Returns:
        A context manager; its ``description`` names the renderer.

    Raises:
        BackendUnavailable: ``gl`` is requested and does not work.
        DescriptionError: Unknown renderer, or an image smaller than 2 x 2 pixels.
    """
    _refuse_unknown(renderer)
    if width < 2 or height < 2:
        message = f"expected 2 x 2 pixels or more, found {width} x {height}"
        raise DescriptionError(message, field="size")
    if renderer == "raycast":
        return RayRenderer(model, width, height, f"{_RAY_CASTER}, as requested")
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
    """Describe the ray caster as a fallback; raise an error if OpenGL is required."""
    none = f"no OpenGL on this host; for the faster renderer: {INSTALL_COMMAND}"
    if not sys.platform.startswith("linux"):
        none = "off-screen OpenGL is supported on Linux only"
    reason = next(iter(_failures.values()), "")
    if renderer == "gl":
        raise BackendUnavailable(reason or f"renderer: expected OpenGL, {none}")
    return f"{_RAY_CASTER}: {reason or none}"


def renderer_description(renderer: str) -> str:
    """Describe the renderer that ``open_renderer`` selects, without opening it.

    A context that failed to open in this process is taken into account.

    Raises:
        BackendUnavailable: ``gl`` is requested and does not work.
        DescriptionError: Unknown renderer.
    """
    _refuse_unknown(renderer)
    if renderer == "raycast":
        return f"{_RAY_CASTER}, as requested"
    for kind in get_args(Kind):
        if gl_available(kind) and kind not in _failures:
            return gl_description(kind)
    return _without_gl(renderer)


@cache
def gl_available(kind: Kind) -> bool:
    """Whether this kind of OpenGL can draw; tested once per process, in a child process."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        answer = subprocess.run(
            [sys.executable, "-P", "-c", _PROBE],
            env={**os.environ, "MUJOCO_GL": kind},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30.0,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0


def gl_description(kind: Kind) -> str:
    """Description of the OpenGL renderer for the user."""
    return f"drawn with OpenGL ({NAMES[kind]})"


class GlRenderer(Renderer):
    """Renderer of one model with OpenGL, drawn as a copy with adapted visual settings.

    Raises:
        BackendUnavailable: The context cannot be opened in this process.
    """

    def __init__(self, model: mujoco.MjModel, width: int, height: int, kind: Kind) -> None:
        self.name, self.description = NAMES[kind], gl_description(kind)
        self.threads = 1
        # without a skybox the background is inserted per pixel, so edges are antialiased by
        # drawing at twice the size instead of by multisampling
        self._scale = 1 if has_skybox(model) else 2
        self._size = width, height
        self._sky = sky_of(model)
        self._source = copy.copy(model)
        self._model = _prepare(model, width * self._scale, height * self._scale)
        self._colors = model.geom_rgba.copy()
        self._scene = mujoco.MjvScene(self._model, maxgeom=MAX_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0
        self._context, self._drawing = _open_context(self._model, kind)
        atexit.register(self.close)

    def load(self, model: mujoco.MjModel) -> None:
        """Take over shapes, colours and lights; see ``Renderer.load``."""
        self._source, self._colors = copy.copy(model), model.geom_rgba.copy()
        width, height = self._size
        self._model = _prepare(model, width * self._scale, height * self._scale)

    def close(self) -> None:
        """Free the OpenGL context; may be called twice."""
        if self._context is None:
            return
        # a context freed after the exit handler of the driver prints an exception
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
        """Draw a state; see ``Renderer.draw``."""
        self._model.geom_rgba[:] = self._colors
        for geom, rgba in (colors or {}).items():
            self._model.geom_rgba[geom] = rgba
        self._model.skin_rgba[:] = skin_colors(self._source, colors or {})
        self._update_scene(data, camera)
        image = self._read(camera)
        draw_marks(image, camera, marks)
        return image

    def _update_scene(self, data: mujoco.MjData, camera: Camera) -> None:
        model, view = self._model, mujoco.MjvCamera()
        center, reach = bounding_ball(model, data)
        model.stat.center, model.stat.extent = center, reach
        model.vis.global_.fovy = camera.fovy_deg
        model.vis.map.znear = NEAR_DISTANCES * camera.distance / reach
        model.vis.map.zfar = HORIZON_DISTANCES * camera.distance / reach
        view.lookat, view.distance = camera.lookat, camera.distance
        view.azimuth, view.elevation = camera.azimuth_deg, camera.elevation_deg
        every = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(model, data, self._option, None, view, every, self._scene)
        aim_lights(self._scene, camera, center, reach)
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


def _prepare(model: mujoco.MjModel, width: int, height: int) -> mujoco.MjModel:
    prepared = drawing_copy(model)
    prepared.vis.global_.offwidth, prepared.vis.global_.offheight = width, height
    prepared.vis.quality.shadowsize = SHADOW_PIXELS
    prepared.vis.quality.numslices, prepared.vis.quality.numstacks = SLICES, STACKS
    prepared.vis.quality.offsamples = SAMPLES if has_skybox(model) else 0
    complete_headlight(prepared)
    return prepared


def _open_context(model: mujoco.MjModel, kind: Kind) -> tuple[Any, Any]:
    try:
        base = importlib.import_module(f"mujoco.{kind}").GLContext
        # freed by close() only; the base class would free it again during garbage collection
        owned = type("OwnedContext", (base,), {"__del__": lambda _context: None})
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
