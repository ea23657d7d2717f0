"""The result of a comparison of engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from softgrasp.crosschecks.again import python_call
from softgrasp.crosschecks.engines import EngineProperties
from softgrasp.crosschecks.finding import Finding
from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.crosschecks.release_runs import ReleaseRuns
from softgrasp.crosschecks.tolerances import Tolerances
from softgrasp.description.release import FingerRelease
from softgrasp.description.scene import GraspScene


@dataclass(frozen=True, kw_only=True)
class CrosscheckResult:
    """What engines say of one scene or release, and how far they differ."""

    subject: GraspScene | FingerRelease
    backends: tuple[str, ...]
    """The first is the one that others are compared with."""
    engines: Mapping[str, EngineProperties]
    tolerances: Tolerances
    findings: tuple[Finding, ...]
    runs: GraspRuns | ReleaseRuns
    """All that was simulated."""
    warnings: tuple[str, ...]
    quick: bool
    wall_time: float = 0.0
    """[s]"""
    command: str = ""
    """The words of the command line that it came from; empty where there were none."""

    @property
    def diverged(self) -> tuple[str, ...]:
        """Engines in which a simulation of a grasp has diverged."""
        if isinstance(self.runs, ReleaseRuns):
            return ()
        return tuple(
            name for name in self.backends if name in {*self.runs.diverged, *self.runs.lost}
        )

    @property
    def again(self) -> str:
        """What to write to compare the same again, on the command line or in Python."""
        return self.command or python_call(self.subject, self.backends, self.tolerances, self.quick)

    @property
    def passed(self) -> bool:
        """Whether every difference is within its tolerance."""
        return all(finding.passed for finding in self.findings)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Findings beyond their tolerance."""
        return tuple(finding for finding in self.findings if not finding.passed)

    @property
    def evaluated(self) -> int:
        """How many findings have a tolerance."""
        return sum(finding.tolerance is not None for finding in self.findings)

    @property
    def title(self) -> str:
        """What is compared."""
        name = self.subject.name
        if name:
            return name
        if isinstance(self.subject, FingerRelease):
            return self.subject.finger.name
        return f"{self.subject.hand.name}_{self.subject.object.name}"

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        names = ", ".join(self.backends)
        if not isinstance(self.runs, ReleaseRuns) and self.runs.diverged:
            return f"{names}: the simulation has diverged in {', '.join(self.diverged)}"
        if self.passed:
            return f"{names}: all {self.evaluated} differences are within their tolerances"
        beyond = ", ".join(finding.name for finding in self.failed)
        count = len(self.failed)
        verb = "is" if count == 1 else "are"
        return f"{names}: {count} of {self.evaluated} differences {verb} beyond tolerance: {beyond}"

    def finding(self, name: str) -> Finding:
        """One finding by its name.

        Raises:
            KeyError: There is none of that name.
        """
        return {finding.name: finding for finding in self.findings}[name]
