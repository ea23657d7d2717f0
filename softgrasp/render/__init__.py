"""Pictures and films of MuJoCo models, drawn off-screen with OpenGL or without.

Knows models, cameras and marks; scenes and grasps come in through the arguments.
"""

from softgrasp.render.camera import Camera, frame_points, geom_corner_points
from softgrasp.render.film import tile, write_frames, write_png
from softgrasp.render.marks import Arrow, Ball
from softgrasp.render.renderer import Renderer, open_renderer

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
