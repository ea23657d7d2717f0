"""Contacts of a scene as ContactProperties: stiffness and damping at a time step."""

from __future__ import annotations

from softgrasp.build.pairs import torsion_of
from softgrasp.description.contact import Contact
from softgrasp.formats.wbt.node import Node, Value


def contact_properties(
    first: str, second: str, contact: Contact, dimension: int, timestep: float
) -> Node:
    """How two materials touch.

    ODE, which Webots builds on, makes a soft contact of a spring K and a damper D when
    ERP = h·K/(h·K + D) and CFM = 1/(h·K + D) (ODE manual, "Soft constraint"): its force is
    K·(δ + h·δ̇) + D·δ̇, so that force over penetration at rest is K at every time step h. The
    numbers of a world belong to its time step.

    Args:
        first: Material of one side.
        second: Of the other.
        contact: Stiffness, damping and friction.
        dimension: Of a contact, as ``Solver.contact_dimension``: from 4 on it resists turning
            about its normal, from 6 on rolling too.
        timestep: h [s].
    """
    strength = timestep * contact.stiffness + contact.damping
    fields: dict[str, Value] = {
        "material1": first,
        "material2": second,
        "coulombFriction": [0.0 if dimension == 1 else contact.static_friction],
        "bounce": 0,  # half of the speed comes back by default
        "softERP": timestep * contact.stiffness / strength,
        "softCFM": 1.0 / strength,
    }
    rolling = contact.rolling_friction if dimension >= 6 else 0.0
    spinning = torsion_of(contact) if dimension >= 4 else 0.0
    if rolling or spinning:
        # largest moments over the normal force: about the surface twice, then about the normal
        fields["rollingFriction"] = (rolling, rolling, spinning)
    return Node("ContactProperties", fields)
