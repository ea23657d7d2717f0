from softgrasp.sim.run_record import ContactEvent as ContactEvent
from softgrasp.sim.run_record import FinishedRun as FinishedRun

NAMES: dict[str, tuple[str, ...]]
