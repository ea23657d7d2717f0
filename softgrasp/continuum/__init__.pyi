from softgrasp.continuum.load_path import NEUTRAL as NEUTRAL
from softgrasp.continuum.load_path import PathPoint as PathPoint
from softgrasp.continuum.load_path import differences as differences
from softgrasp.continuum.load_path import follow as follow
from softgrasp.continuum.load_path import solve_near as solve_near

NAMES: dict[str, tuple[str, ...]]
