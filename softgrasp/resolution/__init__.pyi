from softgrasp.description.resolved import Origin as Origin
from softgrasp.description.resolved import ResolvedScene as ResolvedScene
from softgrasp.description.resolved import ResolvedValue as ResolvedValue
from softgrasp.resolution.resolve import resolve as resolve

NAMES: dict[str, tuple[str, ...]]
