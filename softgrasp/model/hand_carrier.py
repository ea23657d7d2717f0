"""Interface of models of compliant hand carriers, which extensions implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import mujoco

from softgrasp.description.arm import HandCarrier
from softgrasp.description.closure_base import ActuationModel
from softgrasp.description.geometry import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.extensions import CARRIERS

Posture = tuple[tuple[str, float], ...]
"""Joint names and variables [rad or m]."""


class CarrierRest(NamedTuple):
    """Equilibrium of a compliant carrier with its hand."""

    base: Pose
    """Pose of the carrier's base in the world."""
    hand: Pose
    """Pose of the hand in the world."""
    joints: Posture
    """Joint variables of the carrier."""


class CarrierModel(ABC):
    """Model of a hand carrier in MuJoCo: its elements, its equilibrium and its limits.

    Args:
        carrier: Description of the carrier.
    """

    def __init__(self, carrier: HandCarrier) -> None:
        self.carrier = carrier

    @abstractmethod
    def joints(self) -> list[str]:
        """Return the names of all joints of the carrier."""

    @abstractmethod
    def actuators(self) -> list[str]:
        """Return the names of the carrier's actuators, in the order of their targets."""

    @abstractmethod
    def with_hand(
        self, mechanism: ActuationModel, base: Pose
    ) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
        """Build a spec of the carrier and its hand.

        Args:
            mechanism: The hand.
            base: Pose of the carrier's base in the world.

        Returns:
            The spec, and the bodies of the hand that can touch.
        """

    @abstractmethod
    def rest(self, scene: GraspScene) -> CarrierRest:
        """Compute the equilibrium of the carrier with its hand in the start posture.

        Raises:
            BuildError: It has no stable rest.
        """

    @abstractmethod
    def max_timestep(self) -> float:
        """Return the longest time step at which the carrier's springs are stable [s]."""

    @abstractmethod
    def timestep_reason(self) -> str:
        """Return a clause for messages that explains ``max_timestep``."""


def carrier_model(carrier: HandCarrier) -> CarrierModel:
    """Return the model of a carrier, of the class that its extension registers."""
    model: CarrierModel = CARRIERS.load(carrier.kind, "model")(carrier)
    return model
