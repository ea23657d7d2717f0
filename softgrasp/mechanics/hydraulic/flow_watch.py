"""Says once that the flow in a tube is beyond the law that the tube is taken to follow."""

from __future__ import annotations

import warnings

from softgrasp.description.hydraulic_drive import Fluid, Tube
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.hydraulic.tube import BLASIUS_UP_TO, LAMINAR, reynolds
from softgrasp.mechanics.transforms import Array


class FlowWatch:
    """The largest Reynolds number that has been seen in the tubes of an arm.

    Args:
        tube: The tubes.
        fluid: What flows.
    """

    def __init__(self, tube: Tube, fluid: Fluid) -> None:
        self.tube, self.fluid = tube, fluid
        self.largest = 0.0
        self._warned = False

    def watch(self, flow: Array, time: float) -> None:
        """Look at a flow [m³/s] at a time [s].

        Warns:
            SoftgraspWarning: Once, where the law of the tube does not hold at it.
        """
        number = float(reynolds(self.tube, self.fluid, flow).max())
        self.largest = max(self.largest, number)
        holds_to = law_holds_to(self.tube)
        if self._warned or number <= holds_to:
            return
        self._warned = True
        law = "Poiseuille's" if self.tube.flow == "laminar" else "Blasius's"
        warnings.warn(
            f"drive: expected a Reynolds number of at most {holds_to:g}, where {law} law "
            f"holds, found {number:.0f} at {time:.3g} s; the tube resists more than that",
            SoftgraspWarning,
            stacklevel=3,
        )


def law_holds_to(tube: Tube) -> float:
    """Largest Reynolds number at which the law of a tube holds."""
    return LAMINAR if tube.flow == "laminar" else BLASIUS_UP_TO
