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
    quality = result.quality
    if quality is None:
        return "The quality of the grasp was not computed"
    touching = count(quality["contacts"], "contact point")
    if not quality["contacts"]:
        return "Nothing touches the object at the end"
    if quality["epsilon"] == 0.0:
        return f"No force closure at the end with {touching}: {quality['reason']}"
    since = quality.get("force_closure_s")
    began = "" if since is None else f" since {since:.2f} s"
    return f"Force closure{began}, with {touching} at the end: ε = {quality['epsilon']:.3g}"


def quality_rows(result: GraspResult) -> list[QualityRow]:
    """Measures of the final grasp with their conventions; none where nothing touches."""
    quality = result.quality
    if quality is None or not quality["contacts"]:
        return []
    cones = f"friction pyramids of {quality['edges']} edges, unit normal forces"
    kept = quality.get("wrench_contacts", quality["contacts"])
    if kept < quality["contacts"]:
        cones += f", of the {kept} contacts that differ most: a lower bound"
    if quality["contact_model"] == "soft":
        cones += ", spin as the contacts have it"
    scale = f"moments over {millimetres(quality['torque_scale_m'])}, about the centre of mass"
    space = f"{quality['norm']} wrench space of {cones}; {scale}"
    matrix = f"grasp matrix of hard fingers; {scale}"
    rows = [
        _row("ε", quality, "epsilon", f"largest ball in the {space}"),
        _row("volume", quality, "volume", f"of the {space}"),
        _row("smallest singular value", quality, "min_singular_value", matrix),
        _row("isotropy", quality, "isotropy", f"smallest over largest singular value; {matrix}"),
        _row("ellipsoid volume", quality, "ellipsoid_volume", f"product of singular values; {matrix}"),
        _row("friction margin", quality, "friction_margin", "1 − |Ft|/(µ Fn) of real forces, least "
             "of all bodies"),
    ]  # fmt: skip
    return [row for row in rows if row.value]


def _row(label: str, quality: dict[str, Any], key: str, convention: str) -> QualityRow:
    value = quality.get(key)
    return QualityRow(label, "" if value is None else f"{value:.3g}", convention)
