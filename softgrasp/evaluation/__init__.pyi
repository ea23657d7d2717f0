from softgrasp.evaluation.analysis import GraspAnalysis as GraspAnalysis
from softgrasp.evaluation.analysis import analysis_of as analysis_of
from softgrasp.evaluation.hold_result import CREEP_FRACTION as CREEP_FRACTION
from softgrasp.evaluation.hold_result import is_within as is_within
from softgrasp.evaluation.outcome import EJECTION_SAMPLES as EJECTION_SAMPLES
from softgrasp.evaluation.outcome import GraspStatus as GraspStatus
from softgrasp.evaluation.outcome import OPPOSING_TOLERANCE as OPPOSING_TOLERANCE
from softgrasp.evaluation.outcome import Outcome as Outcome
from softgrasp.evaluation.put_down import PutDown as PutDown
from softgrasp.evaluation.result import GraspResult as GraspResult
from softgrasp.evaluation.result import HoldTest as HoldTest
from softgrasp.evaluation.result import Interrupted as Interrupted
from softgrasp.evaluation.result import OtherContact as OtherContact
from softgrasp.evaluation.result import PhaseSpan as PhaseSpan
from softgrasp.evaluation.result import SensorReading as SensorReading

NAMES: dict[str, tuple[str, ...]]
