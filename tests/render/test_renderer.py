"""``auto`` takes the best that works and says so; ``gl`` without OpenGL names the cure."""

import pytest

from softgrasp.errors import BackendUnavailable, DescriptionError
from softgrasp.rendering import open_renderer
from softgrasp.rendering import renderer as gl
from softgrasp.rendering.raycaster import RayRenderer

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
    ("kinds", "name"),
    [(("egl", "osmesa"), "EGL"), (("osmesa",), "OSMesa"), ((), "ray caster")],
)
def test_auto_takes_the_first_that_works(host, scene, kinds, name):
    host(*kinds)
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.name == name


def test_without_opengl_the_note_says_how_to_get_it(host, scene):
    host()
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.note == (
            "drawn by the built-in ray caster: no OpenGL on this host; "
            f"for the faster renderer: {CURE}"
        )


def test_gl_without_opengl_is_an_error_with_the_cure(host, scene):
    host()
    with pytest.raises(BackendUnavailable, match=f"renderer: expected OpenGL, .*{CURE}"):
        open_renderer(scene[0], 8, 6, "gl")


def test_a_context_that_does_not_open_falls_back_and_says_why(host, scene):
    def refuses(*_):
        raise BackendUnavailable("EGL works on this host but not in this process: why not")

    host("egl", opens=refuses)
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.name == "ray caster"
        assert renderer.note.endswith("EGL works on this host but not in this process: why not")
    with pytest.raises(BackendUnavailable, match="not in this process: why not"):
        open_renderer(scene[0], 8, 6, "gl")


def test_elsewhere_than_on_linux_the_note_does_not_talk_of_apt(host, scene, monkeypatch):
    host()
    monkeypatch.setattr("sys.platform", "darwin")
    with open_renderer(scene[0], 8, 6) as renderer:
        assert renderer.note.endswith("OpenGL without a screen is supported on Linux only")


def test_the_ray_caster_can_be_asked_for(host, scene):
    host("egl")
    with open_renderer(scene[0], 8, 6, "raycast") as renderer:
        assert (renderer.name, renderer.note) == (
            "ray caster",
            "drawn by the built-in ray caster, as asked",
        )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((8, 6, "raycst"), "renderer: expected a renderer, found 'raycst'; did you mean 'raycast'"),
        ((1, 6, "auto"), "size: expected 2 x 2 pixels or more, found 1 x 6"),
    ],
)
def test_mistakes_are_told(scene, arguments, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        open_renderer(scene[0], *arguments)
