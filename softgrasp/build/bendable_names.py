"""Names of the joints, tendons and actuators of a bendable segment in a generated model."""

from __future__ import annotations

import math

from softgrasp.description.bendable import Bendable


def bend_joints(part: Bendable) -> list[tuple[str, tuple[float, float]]]:
    """Names of the bending joints, each with the part of its angle towards x and towards y."""
    if part.planar:
        phi = part.limits.phi_min or 0.0
        return [(f"{part.name}_J{k}", (math.cos(phi), math.sin(phi))) for k in cell_numbers(part)]
    towards = (("u", (1.0, 0.0)), ("v", (0.0, 1.0)))
    return [
        (f"{part.name}_J{k}{name}", direction)
        for k in cell_numbers(part)
        for name, direction in towards
    ]


def slide_joints(part: Bendable) -> list[str]:
    """Names of the joints that lengthen it; none without an axial stiffness."""
    return (
        [f"{part.name}_S{k}" for k in cell_numbers(part)] if part.backbone.axial_stiffness else []
    )


def twist_joints(part: Bendable) -> list[str]:
    """Names of the joints that twist it; none without a torsion stiffness."""
    return (
        [f"{part.name}_T{k}" for k in cell_numbers(part)] if part.backbone.torsion_stiffness else []
    )


def segment_actuator_names(part: Bendable) -> list[str]:
    """Its tendons and actuators: one an actuation element, else the two bending moments."""
    if part.actuation:
        return [
            f"{part.name}_{actuator.type}{k}" for k, actuator in enumerate(part.actuation, start=1)
        ]
    return [f"{part.name}_bend"] if part.planar else [f"{part.name}_u", f"{part.name}_v"]


def cell_numbers(part: Bendable) -> range:
    """Numbers of the cells that have joints; the half cell at the base, 0, has none."""
    return range(1, part.backbone.links + 1)
