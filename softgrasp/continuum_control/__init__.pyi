from softgrasp.continuum_control.controllers import FeedForwardController as FeedForwardController
from softgrasp.continuum_control.controllers import ImpedanceController as ImpedanceController
from softgrasp.continuum_control.controllers import JointTrajectoryController as JointTrajectoryController
from softgrasp.continuum_control.controllers import StateBroadcaster as StateBroadcaster
from softgrasp.continuum_control.manager import ControlledRobot as ControlledRobot

NAMES: dict[str, tuple[str, ...]]
