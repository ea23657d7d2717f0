"""What carries a hand: a serial arm of rigid links, or a carrier that an extension adds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, InstanceOf, SerializeAsAny

from softgrasp.description.base import Description
from softgrasp.description.finger import Finger
from softgrasp.description.pose import Pose
from softgrasp.description.problems import FieldError
from softgrasp.errors import DescriptionError
from softgrasp.extensions import CARRIERS, load


class Arm(Description):
    """A chain of Denavit–Hartenberg rows from a base to a flange, and where the hand sits on it.

    It stands so that the hand starts where the scene has it, with the joints at their ``start``.
    Its joints are held and moved by servos; its links are seen but do not touch.
    """

    name: Annotated[str, Field(min_length=1)]
    chain: Finger
    tool: Pose = Pose()
    """Frame of the hand in that of the flange, which is the last one of the chain."""
    source: str = ""
    """Where the numbers come from."""


class HandCarrier(Description):
    """Base of compliant hand carriers, which no target pose leads; see ``extensions.CARRIERS``.

    Its joints have springs, it bears the weight of the hand, and at the start of a run it is at
    rest.
    """

    kind: ClassVar[str]
    """Key in ``extensions.CARRIERS``, and name of a required field."""
    motion_hint: ClassVar[str]
    """Clause for messages: what moves it instead of poses."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the carrier."""

    @property
    @abstractmethod
    def start(self) -> tuple[float, ...]:
        """Targets of its actuators at the start of a run."""

    @property
    @abstractmethod
    def mounted(self) -> bool:
        """Whether its base has a pose in the world, from which that of the hand follows."""


def carrier_kind(tree: Any) -> str | None:
    """Return the kind of the carrier that plain data describes; None for a rigid arm."""
    kinds = CARRIERS if isinstance(tree, dict) else ()
    return next((kind for kind in kinds if kind in tree), None)


def _carrier_from_tree(value: Any) -> Any:
    """Make a carrier of plain data that describes one; return anything else unchanged."""
    kind = carrier_kind(value)
    if kind is None:
        return value
    try:
        return load(CARRIERS[kind].description)(**value)
    except DescriptionError as error:
        raise FieldError(error.message, *error.location) from None


AnyArm = Annotated[
    Arm | SerializeAsAny[InstanceOf[HandCarrier]], BeforeValidator(_carrier_from_tree)
]
"""A rigid arm or another carrier; plain data is recognised by the field of its kind."""
