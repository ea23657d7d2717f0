"""How much water a chamber of an arm takes at a pressure."""

from __future__ import annotations

from softgrasp.description.hydraulic_arm import ArmSection, HydraulicArm


def chamber_compliance(arm: HydraulicArm, section: ArmSection, index: int) -> float:
    """Volume over pressure of a chamber in its bundle, C_a [m³/Pa].

    A_d² l (1/EA + r²/EI) + A_d l / K: its pressure lengthens and bends the whole section. Eq 34
    takes one unit that is free of the others.
    """
    chamber, length = section.chambers[index], section.length
    axial = length / section.axial_stiffness
    bending = chamber.radius**2 * length / section.bending_stiffness
    return chamber.area**2 * (axial + bending) + water_compliance(arm, section, index)


def water_compliance(arm: HydraulicArm, section: ArmSection, index: int) -> float:
    """Volume over pressure of the water in a chamber of its length at rest, V₁/K [m³/Pa].

    V₁ stays as it is, as in eq 34: that the chamber lengthens by some per cent moves poles
    that are far faster than the arm.
    """
    return section.chambers[index].area * section.length / arm.drive.fluid.bulk_modulus
