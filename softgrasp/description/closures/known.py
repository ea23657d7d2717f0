"""All closures by name, and the field of a scene that holds one of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from softgrasp.description.closures.base import Closure
from softgrasp.description.closures.force_limited import ForceLimitedClosure
from softgrasp.description.closures.joint_torque import JointTorqueClosure
from softgrasp.description.closures.position import PositionIncrementClosure, PressureClosure
from softgrasp.description.closures.synergy import SynergyIncrementClosure
from softgrasp.description.closures.underactuated import UnderactuatedClosure

USUAL = "position-increment"
"""What a description without a ``type`` means."""


def _type_of(value: Any) -> str:
    if isinstance(value, Closure):
        return value.name
    return str(value.get("type", USUAL)) if isinstance(value, dict) else USUAL


AnyClosure = Annotated[
    Annotated[PositionIncrementClosure, Tag("position-increment")]
    | Annotated[SynergyIncrementClosure, Tag("synergy-increment")]
    | Annotated[ForceLimitedClosure, Tag("force-limited")]
    | Annotated[UnderactuatedClosure, Tag("underactuated")]
    | Annotated[JointTorqueClosure, Tag("joint-torque")]
    | Annotated[PressureClosure, Tag("pressure")],
    Discriminator(_type_of),
]
"""One of them, told apart by ``type``."""

CLOSURES: dict[str, type[Closure]] = {
    "position-increment": PositionIncrementClosure,
    "synergy-increment": SynergyIncrementClosure,
    "force-limited": ForceLimitedClosure,
    "underactuated": UnderactuatedClosure,
    "joint-torque": JointTorqueClosure,
    "pressure": PressureClosure,
}
"""By the names that ``type`` has."""
