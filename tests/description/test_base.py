"""Documentation of fields, read from the source, and the common base of descriptions."""

from __future__ import annotations

import softgrasp as sg
from softgrasp.description.base import field_docs


def test_fields_have_the_documentation_below_them_or_that_of_a_base_class() -> None:
    docs = field_docs(sg.hydraulics.HydraulicArm)
    assert docs["gravity"] == "Gravity in the base frame [m/s²]."
    assert docs["segments"] == "Number of circular arcs per section in the lumped model."
    assert "name" not in docs  # it says what it is


def test_classes_without_source_have_no_documentation() -> None:
    made = type("Made", (sg.hydraulics.HydraulicArm,), {})
    assert field_docs(made) == field_docs(sg.hydraulics.HydraulicArm)
    assert field_docs(int) == {}
