"""Kelvin–Voigt normal force, smooth stick-slip friction and spin friction of contact points.

Pozzi et al. 2022, eq 1 and Table 2: N = K·δ + D·δ̇, never negative, and a friction coefficient that
grows smoothly with the slip speed up to the static one and decreases to the dynamic one beyond the
critical velocity. Friction and the moment about the normal have a common limit, the ellipsoid
(|F|/µN)² + (M/γN)² = 1 of Howe and Cutkosky (1996), which is also MuJoCo's elliptic cone: both
oppose the motion of a ring of radius r = γ/µ, whose speed is √(s² + (r·ω)²).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.mechanics import Array

SLIDING = 1.5
"""Slip speed, over the critical velocity, from which on friction is dynamic [–]."""
AT_REST = 1e-300
"""Speed below which the direction of slip is undefined [m/s]."""
MIN_FRICTION = 1e-9
"""Static coefficient that the radius of the ring is computed with at least [–]."""


class Material(NamedTuple):
    """Contact parameters (stiffness, damping, friction) of n contact points or pairs."""

    stiffness: Array
    """K, (n,) [N/m]."""
    damping: Array
    """D, (n,) [N·s/m]."""
    static: Array
    """µs, (n,) [–]."""
    dynamic: Array
    """µd, (n,) [–]."""
    critical: Array
    """Critical velocity, (n,) [m/s]."""
    torsion: Array
    """Largest moment about the normal over normal force, (n,) [m]."""
    stick: Array
    """Slip speed at which friction reaches µs·N, (n,) [m/s]; the critical velocity at most."""


class Forces(NamedTuple):
    """Forces on the second body of n contact points."""

    normal: Array
    """N, (n,) [N]."""
    friction: Array
    """World frame, (n, 3) [N]."""
    spin: Array
    """Moment about the normal, (n,) [N·m]."""
    closing: Array
    """δ̇, (n,) [m/s]."""
    slip: Array
    """Tangential velocity of the second body relative to the first, (n, 3) [m/s]."""


def coefficient(speed: Array, law: Material) -> tuple[Array, Array]:
    """Return µ(s) and dµ/ds at slip speeds, (n,) each.

    µ = µs·x·(3 − x²)/2 with x = s/stick below the stick speed; from the critical velocity to 1.5
    times that, it decreases to µd by a cubic with zero slope at both ends.

    Args:
        speed: Slip speeds, (n,) [m/s].
        law: Parameters.
    """
    x = np.minimum(speed / law.stick, 1.0)
    mu = law.static * x * (3.0 - x * x) * 0.5
    slope = law.static * 1.5 * (1.0 - x * x) / law.stick
    if (law.static == law.dynamic).all():
        return mu, slope
    width = (SLIDING - 1.0) * law.critical
    u = np.clip((speed - law.critical) / width, 0.0, 1.0)
    drop = law.static - law.dynamic
    return mu - drop * u * u * (3.0 - 2.0 * u), slope - drop * 6.0 * u * (1.0 - u) / width


def contact_forces(
    depth: Array, normal: Array, velocity: Array, spin: Array, law: Material
) -> Forces:
    """Compute the forces on the second bodies of contact points.

    Args:
        depth: δ, (n,) [m]; no force where it is not positive.
        normal: Unit normals into the second bodies, (n, 3).
        velocity: Of the second bodies relative to the first at the points, (n, 3) [m/s].
        spin: Relative angular velocity about the normals, (n,) [rad/s].
        law: Parameters.
    """
    closing = -np.einsum("ni,ni->n", velocity, normal)
    pressing = np.maximum(law.stiffness * depth + law.damping * closing, 0.0) * (depth > 0.0)
    slip = velocity + closing[:, None] * normal
    speed = ring_speed(slip, spin, law)
    mu, _ = coefficient(speed, law)
    viscosity = pressing * mu / np.maximum(speed, AT_REST)
    moment = -viscosity * ring_radius(law) ** 2 * spin
    return Forces(pressing, -viscosity[:, None] * slip, moment, closing, slip)


def ring_radius(law: Material) -> Array:
    """Return r = γ/µs of the ring that slips and spins like a contact, (n,) [m]."""
    return law.torsion / np.maximum(law.static, MIN_FRICTION)


def ring_speed(slip: Array, spin: Array, law: Material) -> Array:
    """Return the speed of the ring, √(s² + (r·ω)²), (n,) [m/s].

    Args:
        slip: Slip velocities, (n, 3) [m/s].
        spin: Angular velocities about the normals, (n,) [rad/s].
        law: Parameters.
    """
    return np.asarray(np.sqrt(np.einsum("ni,ni->n", slip, slip) + (ring_radius(law) * spin) ** 2))


class Slopes(NamedTuple):
    """Derivatives of the forces on the second bodies of n contact points, without ∂F/∂ω."""

    displacement: Array
    """∂F/∂x, (n, 3, 3) [N/m]."""
    velocity: Array
    """∂F/∂v, (n, 3, 3) [N·s/m]."""
    spin: Array
    """∂M/∂ω about the normal, (n,) [N·m·s/rad]."""


def contact_slopes(normal: Array, spin: Array, forces: Forces, law: Material) -> Slopes:
    """Compute the derivatives of ``contact_forces`` at constant normals.

    Args:
        normal: Unit normals, (n, 3).
        spin: Relative angular velocity about the normals, (n,) [rad/s].
        forces: The forces.
        law: Parameters.
    """
    slip = forces.slip
    speed = np.maximum(ring_speed(slip, spin, law), 1e-6 * law.stick)
    mu, slope = coefficient(speed, law)
    pressing, n_n = forces.normal, normal[:, :, None] * normal[:, None, :]
    on = (pressing > 0.0)[:, None, None]
    direction = slip / speed[:, None]
    s_s = direction[:, :, None] * direction[:, None, :]
    ratio = mu / speed
    # F = N·n − N·µ·s/|s| with ∂N/∂x = −K·n and ∂N/∂v = −D·n
    along = (normal - mu[:, None] * direction)[:, :, None] * normal[:, None, :]
    across = ratio[:, None, None] * (np.eye(3) - n_n) + (slope - ratio)[:, None, None] * s_s
    arm = ring_radius(law)
    spinning = ratio + (slope - ratio) * (arm * spin / speed) ** 2
    return Slopes(
        displacement=-law.stiffness[:, None, None] * along * on,
        velocity=-law.damping[:, None, None] * along * on - pressing[:, None, None] * across,
        spin=-pressing * arm**2 * spinning,
    )
