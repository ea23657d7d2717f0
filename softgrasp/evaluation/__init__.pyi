from softgrasp.evaluation.analysis import GraspAnalysis as GraspAnalysis
from softgrasp.evaluation.analysis import analysis_of as analysis_of
from softgrasp.evaluation.outcome import GraspStatus as GraspStatus
from softgrasp.evaluation.outcome import Outcome as Outcome
from softgrasp.evaluation.result import GraspResult as GraspResult
from softgrasp.evaluation.result import HoldTest as HoldTest
from softgrasp.evaluation.result import OtherContact as OtherContact
from softgrasp.evaluation.result import PhaseSpan as PhaseSpan
from softgrasp.evaluation.result import SensorReading as SensorReading

NAMES: dict[str, tuple[str, ...]]
