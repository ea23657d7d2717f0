from softgrasp.rendering.camera import Camera as Camera
from softgrasp.rendering.camera import frame_points as frame_points
from softgrasp.rendering.camera import geom_corner_points as geom_corner_points
from softgrasp.rendering.encoding import playable_path as playable_path
from softgrasp.rendering.encoding import video_names as video_names
from softgrasp.rendering.encoding import write_frames as write_frames
from softgrasp.rendering.encoding import write_png as write_png
from softgrasp.rendering.overlay import Arrow as Arrow
from softgrasp.rendering.overlay import Ball as Ball
from softgrasp.rendering.overlay import Image as Image
from softgrasp.rendering.overlay import Mark as Mark
from softgrasp.rendering.overlay import Renderer as Renderer
from softgrasp.rendering.overlay import Rgba as Rgba
from softgrasp.rendering.overlay import stamp as stamp
from softgrasp.rendering.renderer import open_renderer as open_renderer
from softgrasp.rendering.video import draw_frames as draw_frames

NAMES: dict[str, tuple[str, ...]]
