"""Off-screen rendering of MuJoCo models to images and videos, with OpenGL or a ray caster."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "rendering.camera": ("Camera", "frame_points", "geom_corner_points"),
    "rendering.encoding": ("playable_path", "video_names", "write_frames", "write_png"),
    "rendering.overlay": ("Arrow", "Ball", "Image", "Mark", "Renderer", "Rgba", "stamp"),
    "rendering.renderer": ("open_renderer",),
    "rendering.video": ("draw_frames",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
