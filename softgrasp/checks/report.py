"""What an inspection finds: one finding, one check of several, the whole inspection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Severity = Literal["problem", "remark"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that is not as it should be, or that a user would want to know."""

    subject: str
    """What it is about: ``link 'base'``, ``object 'mug'``."""
    severity: Severity
    """A problem makes results wrong or runs impossible; a remark is worth knowing."""
    check: str
    """Name of the check that found it."""
    expected: str
    actual: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What was measured, by name with unit, such as ``density_kg_m3``; finite."""
    advice: str = ""

    @property
    def sentence(self) -> str:
        """The finding in words."""
        text = f"{self.subject}: expected {self.expected}, found {self.actual}"
        return f"{text}; {self.advice}" if self.advice else text


@dataclass(frozen=True)
class Check:
    """One question that was asked, what was measured, and what came of it."""

    name: str
    measured: str
    """The answer in words, with numbers."""
    findings: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> Literal["ok", "remark", "problem"]:
        """The worst of its findings."""
        severities = {finding.severity for finding in self.findings}
        if "problem" in severities:
            return "problem"
        return "remark" if severities else "ok"


@dataclass(frozen=True)
class Inspection:
    """All checks of one hand, object, mesh or robot."""

    kind: str
    name: str
    checks: tuple[Check, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Problems and remarks, check by check."""
        return tuple(finding for check in self.checks for finding in check.findings)

    @property
    def problems(self) -> tuple[Finding, ...]:
        """What makes results wrong or runs impossible."""
        return tuple(one for one in self.findings if one.severity == "problem")

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """What is worth knowing."""
        return tuple(one for one in self.findings if one.severity == "remark")

    @property
    def verdict(self) -> str:
        """How many checks were made, and what they found, in one line."""
        return f"{counted(len(self.checks), 'check')}: {summary(self.problems, self.remarks)}"

    def check(self, name: str) -> Check:
        """The check of a name.

        Raises:
            KeyError: There is none.
        """
        return {check.name: check for check in self.checks}[name]

    def as_dict(self) -> dict[str, Any]:
        """The inspection as plain data, for JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "verdict": self.verdict,
            "checks": [
                {"name": check.name, "verdict": check.verdict, "measured": check.measured}
                for check in self.checks
            ],
            "findings": [
                {**asdict(one), "numbers": dict(one.numbers), "sentence": one.sentence}
                for one in self.findings
            ],
        }


def summary(problems: Sequence[object], remarks: Sequence[object] = ()) -> str:
    """How many problems and remarks there are: ``no problems found, 2 remarks``."""
    text = f"{counted(len(problems), 'problem') if problems else 'no problems'} found"
    return f"{text}, {counted(len(remarks), 'remark')}" if remarks else text


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 check``, ``2 checks``; ``plural`` where the plural is another word."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def range_text(values: Sequence[float], unit: str) -> str:
    """``1.2 kg``, ``1.2 … 3.4 kg``, or ``none``."""
    if not values:
        return "none"
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return f"{low} {unit}" if low == high else f"{low} … {high} {unit}"
