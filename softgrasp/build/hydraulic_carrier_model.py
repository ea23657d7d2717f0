"""A water-hydraulic arm as a carrier of a hand: the ``CarrierModel`` that it registers."""

from __future__ import annotations

from functools import lru_cache

import mujoco

from softgrasp.build.carrier_model import CarrierModel, CarrierRest
from softgrasp.build.carrier_rest import carrier_rest
from softgrasp.build.hydraulic_arm import arm_model
from softgrasp.build.hydraulic_carrier import cell_joints, chamber_actuators, hand_on_arm
from softgrasp.build.spring_limit import spring_limit
from softgrasp.description.hydraulic_carrier import HydraulicCarrier
from softgrasp.description.mechanism import ActuationModel
from softgrasp.description.pose import Pose
from softgrasp.description.scene import GraspScene

STEP_FRACTION = 0.9
"""Fraction of the longest stable time step of the arm's springs that is used."""


class HydraulicCarrierModel(CarrierModel):
    """Model of a water-hydraulic arm that carries a hand."""

    carrier: HydraulicCarrier

    def joints(self) -> list[str]:
        """Return the joints of all cells."""
        return cell_joints(self.carrier)

    def actuators(self) -> list[str]:
        """Return the actuators of the chambers, from the base outwards."""
        return chamber_actuators(self.carrier)

    def with_hand(
        self, mechanism: ActuationModel, base: Pose
    ) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
        """Build a spec of the arm and its hand; see ``CarrierModel``."""
        return hand_on_arm(mechanism, self.carrier, base)

    def rest(self, scene: GraspScene) -> CarrierRest:
        """Compute the rest of the arm under its pressures and both weights."""
        return carrier_rest(scene)

    def max_timestep(self) -> float:
        """Return the longest time step that its springs allow [s]."""
        return _max_timestep(self.carrier)

    def timestep_reason(self) -> str:
        """Return the clause about its cells."""
        return f"an arm of {self.carrier.links} cells a section, whose springs do not bear more"


@lru_cache(maxsize=8)
def _max_timestep(carrier: HydraulicCarrier) -> float:
    """Compute the longest time step of an arm [s]; a hand at its end slows it."""
    return STEP_FRACTION * spring_limit(arm_model(carrier.hydraulic, carrier.links))
