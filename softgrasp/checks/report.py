"""Findings of an inspection, the checks that made them, and the inspection as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from softgrasp.io.hand_sanity import range_doubt

Severity = Literal["problem", "remark"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An error, or a remark that a user should know."""

    subject: str
    """Subject of the sentence, such as ``link 'base'`` or ``object 'mug'``."""
    severity: Severity
    """A problem makes results wrong or runs impossible; a remark does not."""
    check: str = ""
    """Name of its check, which sets it."""
    expected: str
    actual: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Finite measured values by name with unit, such as ``density_kg_m3``."""
    advice: str = ""

    @property
    def sentence(self) -> str:
        """Format the finding as a sentence."""
        text = f"{self.subject}: expected {self.expected}, found {self.actual}"
        return f"{text}; {self.advice}" if self.advice else text


@dataclass(frozen=True)
class Check:
    """One check with its measured value and its findings."""

    name: str
    measured: str
    """The measurement in words, with numbers."""
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        """Write the name of the check into its findings."""
        named = tuple(replace(item, check=self.name) for item in self.findings)
        object.__setattr__(self, "findings", named)

    @property
    def verdict(self) -> Literal["ok", "remark", "problem"]:
        """Return the highest severity of the findings of this check."""
        severities = {item.severity for item in self.findings}
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
        """Return problems and remarks in the order of the checks."""
        return tuple(item for check in self.checks for item in check.findings)

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings that make results wrong or runs impossible."""
        return tuple(item for item in self.findings if item.severity == "problem")

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Findings that are no problems."""
        return tuple(item for item in self.findings if item.severity == "remark")

    @property
    def verdict(self) -> str:
        """Numbers of checks, problems and remarks, in one line."""
        return f"{format_count(len(self.checks), 'check')}: {summary(self.problems, self.remarks)}"

    def check(self, name: str) -> Check:
        """Return the check of a name.

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
                {**asdict(item), "numbers": dict(item.numbers), "sentence": item.sentence}
                for item in self.findings
            ],
        }


def finding(
    severity: Severity,
    subject: str,
    expected: str,
    actual: str,
    advice: str = "",
    /,
    **numbers: float,
) -> Finding:
    """Return a finding with its measured values by name."""
    words = {"expected": expected, "actual": actual, "advice": advice}
    return Finding(subject=subject, severity=severity, **words, numbers=numbers)


def beyond(
    limits: tuple[float, float],
    value: float,
    subject: str,
    expected: str,
    actual: str,
    advice: str = "",
    /,
    **numbers: float,
) -> tuple[Finding, ...]:
    """Return the problem of a value beyond its lowest and highest usual value; () within them.

    The limits are written where the expected words have ``{}``.
    """
    low, high = limits
    if low <= value <= high:
        return ()
    expected = expected.format(f"{low:g} … {high:g}")
    return (finding("problem", subject, expected, actual, advice, **numbers),)


def report_lock(
    subject: str, limits: tuple[float, float], measured: str, advice: str = "it cannot move"
) -> Finding:
    """Return the remark that a joint or an actuator has no range."""
    low, high = limits
    return finding("remark", subject, "limits apart", measured, advice, lower=low, upper=high)


def range_finding(subject: str, low: float, high: float) -> Finding | None:
    """Return the finding of an implausible range of a revolute joint [rad]; None if plausible."""
    doubt = range_doubt(low, high)
    return doubt and finding(doubt[0], subject, *doubt[1:], lower=low, upper=high)


def as_remarks(check: Check) -> Check:
    """Make all findings of a check remarks."""
    remarks = (replace(item, severity="remark") for item in check.findings)
    return replace(check, findings=tuple(remarks))


def summary(problems: Sequence[object], remarks: Sequence[object] = ()) -> str:
    """Count problems and remarks: ``no problems found, 2 remarks``."""
    text = f"{format_count(len(problems), 'problem') if problems else 'no problems'} found"
    return f"{text}, {format_count(len(remarks), 'remark')}" if remarks else text


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 check``, ``2 checks``."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def range_text(values: Sequence[float], unit: str) -> str:
    """Write a range of values: ``1.2 kg``, ``1.2 … 3.4 kg``, or ``none``."""
    if not values:
        return "none"
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return f"{low} {unit}" if low == high else f"{low} … {high} {unit}"
