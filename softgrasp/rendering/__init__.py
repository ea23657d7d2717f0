"""Pictures and films of MuJoCo models, drawn off-screen with OpenGL or without.

Knows models, cameras and marks; scenes and grasps come in through the arguments.
"""

from softgrasp.rendering.camera import Camera, frame_points, geom_corner_points
from softgrasp.rendering.overlay import Arrow, Ball
from softgrasp.rendering.renderer import Renderer, open_renderer
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
