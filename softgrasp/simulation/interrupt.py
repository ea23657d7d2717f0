"""A run that the user stopped: the finished part is not lost."""

from __future__ import annotations

from softgrasp.simulation.result import GraspResult


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation.

    Attributes:
        result: The run up to the last finished control sample.
    """

    def __init__(self, result: GraspResult) -> None:
        """Keep what was finished."""
        super().__init__(f"interrupted at {result.simulated_time:.3f} s")
        self.result = result
