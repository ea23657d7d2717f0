"""How pairs of materials touch: ContactProperties as ODE's surface parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from softgrasp.formats.wbt.access import number, numbers, text, vector
from softgrasp.formats.wbt.node import Node
from softgrasp.simulation.ode import structs
from softgrasp.simulation.ode.binding import Ode

DEFAULT = Node("ContactProperties")
"""What Webots takes for pairs of materials without an entry: the defaults of the node."""
MAX_CONTACTS = 10


class Materials:
    """The ContactProperties of a world.

    Args:
        ode: For its structures.
        properties: In the order of the file; the first that fits a pair counts, as in Webots.
    """

    def __init__(self, ode: Ode, properties: Iterable[Node]) -> None:
        self._ode = ode
        self._known: dict[tuple[str, str], Node] = {}
        for node in properties:
            pair = (text(node, "material1"), text(node, "material2"))
            for names in (pair, pair[::-1]):
                self._known.setdefault(names, node)

    def between(self, first: Node, second: Node) -> tuple[Any, int]:
        """Surface parameters of two Solids, and how many points may touch.

        Of several friction or slip coefficients, which Webots takes for directions that textures
        give, the first counts.
        """
        pair = (text(first, "contactMaterial"), text(second, "contactMaterial"))
        node = self._known.get(pair, DEFAULT)
        max_contacts = (
            int(number(node, "maxContactJoints")) if "maxContactJoints" in node.fields else 0
        )
        return self._surface(node), max_contacts or MAX_CONTACTS

    def _surface(self, node: Node) -> Any:
        surface = self._ode.types.Surface()
        surface.mode = structs.APPROX_1 | structs.SOFT_CFM | structs.SOFT_ERP
        # the second one counts where axes differ, if only in their rolling friction
        surface.mu = surface.mu2 = _or_infinity(numbers(node, "coulombFriction")[0])
        surface.bounce = number(node, "bounce")
        surface.bounce_vel = number(node, "bounceVelocity")
        surface.soft_erp, surface.soft_cfm = number(node, "softERP"), number(node, "softCFM")
        surface.slip1 = surface.slip2 = numbers(node, "forceDependentSlip")[0]
        rolling = [_or_infinity(value) for value in vector(node, "rollingFriction")]
        surface.rho, surface.rho2, surface.rhoN = rolling
        if surface.bounce != 0.0:
            surface.mode |= structs.BOUNCE
        if surface.slip1 != 0.0:
            surface.mode |= structs.SLIP_1 | structs.SLIP_2
        if any(value > 0.0 for value in rolling):
            surface.mode |= structs.ROLLING
            if any(value > 0.0 for value in rolling[1:]):
                surface.mode |= structs.AXIS_DEPENDENT
        return surface


def _or_infinity(value: float) -> float:
    return structs.INFINITY if value == -1.0 else value
