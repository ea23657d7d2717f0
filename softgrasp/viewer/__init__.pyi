from softgrasp.viewer.page import Page as Page
from softgrasp.viewer.views import ResultView as ResultView

NAMES: dict[str, tuple[str, ...]]
