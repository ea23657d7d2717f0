from softgrasp.continuum.rld import finger_from_bendable as finger_from_bendable
from softgrasp.io.soft_finger.finger import finger_from_mesh as finger_from_mesh
from softgrasp.io.soft_finger.finger import soft_hand_from_mesh as soft_hand_from_mesh
from softgrasp.sim.soft_dynamics import FingerMotion as FingerMotion
from softgrasp.sim.soft_dynamics import INTEGRATORS as INTEGRATORS
from softgrasp.sim.soft_dynamics import is_stable as is_stable
from softgrasp.sim.soft_dynamics import move_finger as move_finger
from softgrasp.sim.soft_dynamics import stable_step_of as stable_step_of
from softgrasp.sim.soft_dynamics import stable_timestep as stable_timestep
from softgrasp.sim.soft_statics import Equilibrium as Equilibrium
from softgrasp.sim.soft_statics import RobotEquilibrium as RobotEquilibrium
from softgrasp.sim.soft_statics import buckling_factor as buckling_factor
from softgrasp.sim.soft_statics import damp_finger as damp_finger
from softgrasp.sim.soft_statics import equilibrium as equilibrium
from softgrasp.sim.soft_statics import robot_equilibrium as robot_equilibrium
from softgrasp.sim.soft_statics import solve_loaded_shape as solve_loaded_shape

NAMES: dict[str, tuple[str, ...]]
