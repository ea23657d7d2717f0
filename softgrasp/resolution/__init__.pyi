from softgrasp.description.resolved import Origin as Origin
from softgrasp.description.resolved import ResolvedScene as ResolvedScene
from softgrasp.description.resolved import ResolvedValue as ResolvedValue
from softgrasp.resolution.resolve import resolve as resolve
from softgrasp.resolution.transfer import TransferredGrasp as TransferredGrasp
from softgrasp.resolution.transfer import transfer_grasp as transfer_grasp

NAMES: dict[str, tuple[str, ...]]
