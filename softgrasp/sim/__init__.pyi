from softgrasp.sim.analysis import GraspAnalysis as GraspAnalysis
from softgrasp.sim.analysis import analysis_of as analysis_of
from softgrasp.sim.outcome import GraspStatus as GraspStatus
from softgrasp.sim.outcome import Outcome as Outcome
from softgrasp.sim.result import ContactEvent as ContactEvent
from softgrasp.sim.result import GraspResult as GraspResult
from softgrasp.sim.result import HoldTest as HoldTest
from softgrasp.sim.result import OtherContact as OtherContact
from softgrasp.sim.result import PhaseSpan as PhaseSpan
from softgrasp.sim.result import SensorReading as SensorReading

NAMES: dict[str, tuple[str, ...]]
