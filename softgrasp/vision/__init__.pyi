from softgrasp.vision.figures import pick_in_window as pick_in_window
from softgrasp.vision.figures import save_overlay as save_overlay
from softgrasp.vision.image import read_photo as read_photo
from softgrasp.vision.point_picking import Picks as Picks
from softgrasp.vision.point_picking import angles_text as angles_text
from softgrasp.vision.point_picking import measure_picks as measure_picks
from softgrasp.vision.point_picking import read_depth as read_depth

NAMES: dict[str, tuple[str, ...]]
