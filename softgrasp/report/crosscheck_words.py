"""Numbers and verdicts of a comparison of engines in words, on the page and in the terminal."""

from __future__ import annotations

import math

from softgrasp.comparison.criteria import Finding, measured


def number(value: float | str) -> str:
    """A value in a table."""
    if isinstance(value, str):
        return value
    return "–" if math.isnan(value) else f"{value:.5g}"


def with_unit(value: float | None, finding: Finding) -> str:
    """A difference or a tolerance of a finding."""
    if value is None or math.isnan(value):
        return "–"
    return measured(value, finding.difference_unit) if value else "0"


def verdict(finding: Finding) -> str:
    """One word."""
    if finding.tolerance is None:
        return "told"
    return "within" if finding.passed else "BEYOND"
