"""What the quality of a grasp is, in words and as a table with conventions."""

from __future__ import annotations

from typing import Any, NamedTuple

from softgrasp.report.quantities import count, millimetres
from softgrasp.simulation.result import GraspResult


class QualityRow(NamedTuple):
    """A measure of the final grasp."""

    label: str
    value: str
    convention: str


def quality_clause(result: GraspResult) -> str:
    """When force closure began and what ε is at the end."""
    told = result.quality
    if told is None:
        return "The quality of the grasp was not computed"
    touching = count(told["contacts"], "contact point")
    if not told["contacts"]:
        return "Nothing touches the object at the end"
    if told["epsilon"] == 0.0:
        return f"No force closure at the end with {touching}: {told['reason']}"
    since = told.get("force_closure_s")
    began = "" if since is None else f" since {since:.2f} s"
    return f"Force closure{began}, with {touching} at the end: ε = {told['epsilon']:.3g}"


def quality_rows(result: GraspResult) -> list[QualityRow]:
    """Measures of the final grasp with their conventions; none where nothing touches."""
    told = result.quality
    if told is None or not told["contacts"]:
        return []
    cones = f"friction pyramids of {told['edges']} edges, unit normal forces"
    kept = told.get("wrench_contacts", told["contacts"])
    if kept < told["contacts"]:
        cones += f", of the {kept} contacts that differ most: a lower bound"
    if told["contact_model"] == "soft":
        cones += ", spin as the contacts have it"
    scale = f"moments over {millimetres(told['torque_scale_m'])}, about the centre of mass"
    space = f"{told['norm']} wrench space of {cones}; {scale}"
    matrix = f"grasp matrix of hard fingers; {scale}"
    rows = [
        _row("ε", told, "epsilon", f"largest ball in the {space}"),
        _row("volume", told, "volume", f"of the {space}"),
        _row("smallest singular value", told, "min_singular_value", matrix),
        _row("isotropy", told, "isotropy", f"smallest over largest singular value; {matrix}"),
        _row("ellipsoid volume", told, "ellipsoid_volume", f"product of singular values; {matrix}"),
        _row("friction margin", told, "friction_margin", "1 − |Ft|/(µ Fn) of real forces, least "
             "of all bodies"),
    ]  # fmt: skip
    return [row for row in rows if row.value]


def _row(label: str, told: dict[str, Any], key: str, convention: str) -> QualityRow:
    value = told.get(key)
    return QualityRow(label, "" if value is None else f"{value:.3g}", convention)
