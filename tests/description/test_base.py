"""Meanings of fields, read from the source when they are needed."""

from __future__ import annotations

import softgrasp as sg
from softgrasp.description.base import field_docs


def test_a_field_has_the_text_under_it_and_that_of_the_class_it_comes_from() -> None:
    docs = field_docs(sg.hydraulics.HydraulicArm)
    assert docs["gravity"] == "In the frame of the base [m/s²]."
    assert docs["segments"] == "Circular arcs in which a section bends in the lumped model."
    assert "drive" not in docs  # its name says it


def test_without_source_there_is_none() -> None:
    made = type("Made", (sg.hydraulics.HydraulicArm,), {})
    assert field_docs(made) == field_docs(sg.hydraulics.HydraulicArm)
    assert field_docs(int) == {}
