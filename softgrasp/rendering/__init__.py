"""Off-screen rendering of MuJoCo models to images and videos, with OpenGL or a ray caster."""

from softgrasp.rendering.camera import Camera, frame_points, geom_corner_points
from softgrasp.rendering.overlay import Arrow, Ball, Renderer
from softgrasp.rendering.renderer import open_renderer
from softgrasp.rendering.video import tile, write_frames, write_png

__all__ = [
    "Arrow",
    "Ball",
    "Camera",
    "Renderer",
    "frame_points",
    "geom_corner_points",
    "open_renderer",
    "tile",
    "write_frames",
    "write_png",
]
