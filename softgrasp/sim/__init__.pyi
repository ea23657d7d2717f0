from softgrasp.sim.contacts import ContactPoint as ContactPoint
from softgrasp.sim.contacts import ContactReader as ContactReader
from softgrasp.sim.contacts import OtherPoint as OtherPoint
from softgrasp.sim.contacts import contact_points as contact_points
from softgrasp.sim.control_state import Recording as Recording
from softgrasp.sim.control_state import caught_warnings as caught_warnings
from softgrasp.sim.control_state import has_diverged as has_diverged
from softgrasp.sim.load_balance import LoadRecord as LoadRecord
from softgrasp.sim.load_balance import NO_LOAD as NO_LOAD
from softgrasp.sim.load_balance import borne_by_hand as borne_by_hand
from softgrasp.sim.motion_plan import PhaseRows as PhaseRows
from softgrasp.sim.run_record import ContactEvent as ContactEvent
from softgrasp.sim.run_record import EngineRecord as EngineRecord
from softgrasp.sim.run_record import EventLog as EventLog
from softgrasp.sim.run_record import FinishedRun as FinishedRun
from softgrasp.sim.run_record import PullRecord as PullRecord
from softgrasp.sim.run_record import PushRecord as PushRecord
from softgrasp.sim.sensors import Sensing as Sensing
from softgrasp.sim.suction import Suction as Suction
from softgrasp.sim.suction import SuctionEvent as SuctionEvent

NAMES: dict[str, tuple[str, ...]]
