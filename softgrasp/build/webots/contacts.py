"""Contacts of a scene as ContactProperties: stiffness and damping at a time step."""

from __future__ import annotations

from softgrasp.description.contact import Contact
from softgrasp.formats.wbt.node import Node


def contact_properties(first: str, second: str, contact: Contact, timestep: float) -> Node:
    """How two materials touch.

    ODE, which Webots builds on, makes a soft contact of a spring K and a damper D when
    ERP = h·K/(h·K + D) and CFM = 1/(h·K + D) (ODE manual, "Soft constraint"): its force is
    K·(δ + h·δ̇) + D·δ̇, so that force over penetration at rest is K at every time step h. The
    numbers of a world belong to its time step.

    Args:
        first: Material of one side.
        second: Of the other.
        contact: Stiffness, damping and friction.
        timestep: h [s].
    """
    strength = timestep * contact.stiffness + contact.damping
    return Node(
        "ContactProperties",
        {
            "material1": first,
            "material2": second,
            "coulombFriction": [contact.static_friction],
            "bounce": 0,  # half of the speed comes back by default
            "softERP": timestep * contact.stiffness / strength,
            "softCFM": 1.0 / strength,
        },
    )
