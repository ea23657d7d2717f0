"""Choice of a renderer; OpenGL in a child process, independent of MUJOCO_GL."""

import os
import subprocess
import sys
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from softgrasp.errors import BackendUnavailable, DescriptionError
from softgrasp.rendering import Camera, frame_points, geom_corner_points, open_renderer
from softgrasp.rendering import renderer as gl
from softgrasp.rendering.raycaster import RayRenderer

SCRIPT = """
import sys
import mujoco
from softgrasp.rendering import Camera, open_renderer
model = mujoco.MjModel.from_xml_string(
    '<mujoco><worldbody><geom type="sphere" size=".1" rgba="1 0 0 1"/></worldbody></mujoco>'
)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = open_renderer(model, 64, 48, "gl")
second = open_renderer(model, 32, 32, "gl")
pixel = renderer.draw(data, Camera((0, 0, 0), 1.0, 0.0, -20.0))[24, 32]
second.draw(data, Camera((0, 0, 0), 1.0, 0.0, -20.0))
assert pixel[0] > 100 > pixel[1], pixel
if "close" in sys.argv:
    renderer.close()
    renderer.close()
print(renderer.name)
"""


@pytest.fixture
def fresh_probe():
    gl.gl_available.cache_clear()
    yield
    gl.gl_available.cache_clear()


@pytest.mark.parametrize("returncode", [1, -6, -11, 134])
def test_a_probe_that_fails_or_dies_means_no(fresh_probe, monkeypatch, returncode):
    answer = SimpleNamespace(returncode=returncode)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    assert not gl.gl_available("egl")


@pytest.mark.parametrize("error", [OSError("no"), subprocess.TimeoutExpired("probe", 1.0)])
def test_a_probe_that_hangs_or_cannot_start_means_no(fresh_probe, monkeypatch, error):
    def run(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    assert not gl.gl_available("osmesa")


def test_the_probe_runs_once_a_process(fresh_probe, monkeypatch):
    calls = []

    def run(command, env, **_):
        calls.append(env["MUJOCO_GL"])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "platform", "linux")
    assert gl.gl_available("egl")
    assert gl.gl_available("egl")
    assert calls == ["egl"]


def test_elsewhere_than_on_linux_nothing_is_tried(fresh_probe, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a probe was started"))
    assert not gl.gl_available("egl")


def test_importing_the_module_starts_nothing_and_sets_nothing():
    code = (
        "import os, subprocess; before = dict(os.environ); subprocess.run = None\n"
        "import softgrasp.rendering, sys\n"
        "assert dict(os.environ) == before\n"
        "assert 'OpenGL.EGL' not in sys.modules and 'imageio' not in sys.modules"
    )
    environment = {k: v for k, v in os.environ.items() if k != "MUJOCO_GL"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.mark.slow
@pytest.mark.gl
@pytest.mark.parametrize(("setting", "ending"), [(None, "leave open"), ("disabled", "close")])
def test_works_and_leaves_quietly_for_any_value_of_mujoco_gl(egl, setting, ending):
    environment = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "DISPLAY")}
    environment.pop("PYOPENGL_PLATFORM", None)
    if setting is not None:
        environment["MUJOCO_GL"] = setting
    command = [sys.executable, "-W", "error", "-c", SCRIPT, ending]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (run.stderr, run.stdout, run.returncode) == ("", "EGL\n", 0)


@pytest.mark.gl
def test_a_model_without_light_and_sky_gets_both(make_scene, egl):
    model, data = make_scene("ellipsoid", dressed=False)
    points = geom_corner_points(model, data)
    camera = frame_points(points, azimuth_deg=125, elevation_deg=-18, aspect=4 / 3)
    with open_renderer(model, 160, 120, "gl") as renderer:
        image = renderer.draw(data, camera)
    with open_renderer(model, 160, 120, "raycast") as renderer:
        other = renderer.draw(data, camera)
    assert image[0].min() > 180
    assert np.abs(image[:4].astype(int) - other[:4]).max() <= 3
    assert np.abs(image.astype(int) - other).mean() < 10


@pytest.mark.gl
def test_the_model_is_left_alone(scene, egl):
    model, data = scene
    fields = ["geom_rgba", "geom_size", "qpos0", "body_mass", "light_dir"]
    before = {name: np.array(getattr(model, name)) for name in fields}
    settings = model.vis.quality.shadowsize, model.vis.global_.fovy, model.stat.extent
    with open_renderer(model, 80, 60, "gl") as renderer:
        renderer.draw(data, Camera((0, 0, -0.05), 0.5, 100.0, -20.0), colors={1: (1, 0, 0, 1)})
    assert all((getattr(model, name) == value).all() for name, value in before.items())
    assert (model.vis.quality.shadowsize, model.vis.global_.fovy, model.stat.extent) == settings


@pytest.mark.gl
def test_an_image_may_be_larger_than_the_buffer_of_the_model(egl):
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><visual><global offwidth="32" offheight="24"/></visual></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with open_renderer(model, 160, 120, "gl") as renderer:
        assert renderer.draw(data, Camera((0, 0, 0), 1.0, 0.0, 0.0)).shape == (120, 160, 3)


@pytest.mark.slow
@pytest.mark.gl
def test_no_speckles_on_the_lit_floor(scene, egl):
    """MuJoCo's shadow map speckles a floor when its light leans along x and y at once."""
    model, data = scene
    for azimuth in (110.0, 200.0):
        camera = Camera((0.0, 0.0, -0.16), 0.6, azimuth, -60.0)
        with open_renderer(model, 240, 180, "gl") as renderer:
            image = renderer.draw(data, camera)[..., 1].astype(int)
        middle, around = image[1:-1, 1:-1], []
        for row, column in np.ndindex(3, 3):
            around.append(image[row : row + 178, column : column + 238])
        lonely = np.median(around, axis=0) - middle > 40
        assert lonely.mean() < 2e-3


# Selection of a renderer.


CURE = "sudo apt install libgl1 libegl1 libgl1-mesa-dri"


class _Opened(RayRenderer):
    def __init__(self, model, width, height, kind):
        super().__init__(model, width, height, f"drawn with OpenGL ({kind})")
        self.name = gl.NAMES[kind]


@pytest.fixture
def host(monkeypatch):
    """Sets which kinds of OpenGL the host has."""

    def has(*kinds, opens=_Opened):
        monkeypatch.setattr(gl, "gl_available", lambda kind: kind in kinds)
        monkeypatch.setattr(gl, "GlRenderer", opens)
        monkeypatch.setattr("sys.platform", "linux")

    return has


@pytest.mark.parametrize(
    ("kinds", "name"), [(("egl", "osmesa"), "EGL"), (("osmesa",), "OSMesa"), ((), "ray caster")]
)
def test_auto_takes_the_first_that_works(host, scene, kinds, name):
    host(*kinds)
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.name == name


def test_without_opengl_the_note_states_how_to_get_it(host, scene):
    host()
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.description == (
            "drawn by the built-in ray caster: no OpenGL on this host; "
            f"for the faster renderer: {CURE}"
        )


def test_gl_without_opengl_is_an_error_with_the_cure(host, scene):
    host()
    with pytest.raises(BackendUnavailable, match=f"renderer: expected OpenGL, .*{CURE}"):
        open_renderer(scene[0], 8, 6, "gl")


def test_a_context_that_does_not_open_falls_back_and_states_why(host, scene):
    def refuses(*_):
        raise BackendUnavailable("EGL works on this host but not in this process: why not")

    host("egl", opens=refuses)
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.name == "ray caster"
        reason = "EGL works on this host but not in this process: why not"
        assert renderer.description.endswith(reason)
    with pytest.raises(BackendUnavailable, match="not in this process: why not"):
        open_renderer(scene[0], 8, 6, "gl")


def test_elsewhere_than_on_linux_the_note_does_not_talk_of_apt(host, scene, monkeypatch):
    host()
    monkeypatch.setattr("sys.platform", "darwin")
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.description.endswith("off-screen OpenGL is supported on Linux only")


def test_the_ray_caster_can_be_requested(host, scene):
    host("egl")
    with open_renderer(scene[0], 8, 6, "raycast") as renderer:
        assert (renderer.name, renderer.description) == (
            "ray caster",
            "drawn by the built-in ray caster, as requested",
        )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((8, 6, "raycst"), "renderer: expected a renderer, found 'raycst'; did you mean 'raycast'"),
        ((1, 6, "auto"), "size: expected 2 x 2 pixels or more, found 1 x 6"),
    ],
)
def test_errors_are_reported(scene, arguments, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        open_renderer(scene[0], *arguments)
