from softgrasp.viewer.page import Page as Page
from softgrasp.viewer.page import require_viser as require_viser
from softgrasp.viewer.page import set_camera as set_camera
from softgrasp.viewer.scene_markers import DrawnModel as DrawnModel
from softgrasp.viewer.views import ResultView as ResultView
from softgrasp.viewer.widgets import RunningChart as RunningChart
from softgrasp.viewer.widgets import plain as plain

NAMES: dict[str, tuple[str, ...]]
