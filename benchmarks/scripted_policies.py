"""Scripted policies of the learning tasks, which know noise-free quantities: the baselines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from softgrasp.envs.task_scenes import HOLE_OFFSET, TENSION, TENSION_RATE
from softgrasp.envs.tasks import Features
from softgrasp.mechanics.transforms import Array

SCALE = 0.02
"""Distance at which a scripted wrist moves at full speed [m]."""


def _move(distance: Array) -> Array:
    return np.asarray(np.clip(distance / SCALE, -1.0, 1.0))


def _gripped(f: Features, force: float, fingers: int = 3) -> NDArray[np.bool_]:
    return np.asarray((f.force.sum(axis=1) > force) & (f.fingers.sum(axis=1) >= fingers))


def _close_and_hold(f: Features) -> Array:
    """Close until three fingers touch, then move in proportion to the relative error of force."""
    error = 1.0 - f.force.sum(axis=1) / f.goal[:, 0]
    close = np.where(f.fingers.sum(axis=1) < 3, 0.5, np.clip(0.3 * error, -0.1, 0.1))
    return np.tile(close[:, None], (1, 4))


def _lift(f: Features) -> Array:
    aside = f.relative[:, :2]
    aligned = np.linalg.norm(aside, axis=1) < 4e-3
    low = f.palm[:, 2] < 4e-3
    gripped = _gripped(f, 6.0)
    raised = f.height > 2e-3
    close = np.where(gripped, 0.1, np.where((aligned & low) | raised, 1.0, -1.0))
    up = _move(f.goal[:, 0] + 5e-3 - f.height)
    down = np.where(aligned, _move(-f.palm[:, 2]), 0.0)
    z = np.where(gripped | raised, up, down)
    held = (gripped | raised)[:, None]
    xy = np.where(held, 0.0, _move(aside))
    return np.concatenate([xy, z[:, None], close[:, None]], axis=1)


def _lift_any(f: Features) -> Array:
    """Close where the hand is, and lift what two fingers hold."""
    gripped = _gripped(f, 6.0, 2)
    raised = f.height > 2e-3
    z = np.where(gripped | raised, 0.5 * _move(f.goal[:, 0] + 5e-3 - f.height), 0.0)
    still = np.zeros_like(z)
    return np.stack([still, still, z, np.where(gripped, 0.1, 0.5)], axis=1)


def _roll(f: Features) -> Array:
    """Move the tips at +x and −x up and down, both pressing, by the inverse of the Jacobian."""
    first, second, press = 0.05, 0.063, 0.002
    speed = 0.02 * np.clip((f.goal[:, 0] - f.angle) / 0.05, -1.0, 1.0)
    actions = []
    for finger, side in ((0, -1.0), (2, 1.0)):
        q1, q2 = f.joint[:, 3 * finger], f.joint[:, 3 * finger : 3 * finger + 3].sum(axis=1)
        inward = np.stack([first * np.cos(q1) + second * np.cos(q2), second * np.cos(q2)])
        upward = np.stack([first * np.sin(q1) + second * np.sin(q2), second * np.sin(q2)])
        determinant = inward[0] * upward[1] - inward[1] * upward[0]
        desired = press, side * speed
        actions += [
            (desired[0] * upward[1] - desired[1] * inward[1]) / determinant,
            (desired[1] * inward[0] - desired[0] * upward[0]) / determinant,
        ]
    return np.stack(actions, axis=1)


def _regrasp(f: Features) -> Array:
    error = f.relative[:, 2] - f.goal[:, 0]
    fits = np.abs(error) < 3e-3
    gripped = _gripped(f, 6.0)
    free = f.force.sum(axis=1) < 1e-3
    z = np.where(fits, np.where(gripped, 0.5, 0.0), np.where(free, _move(error), 0.0))
    close = np.where(fits, np.where(gripped, 0.0, 0.5), -1.0)
    return np.stack([z, close], axis=1)


def _soft_lift(f: Features) -> Array:
    gripped = _gripped(f, 1.5, 2)
    close = np.where(gripped, 0.05, 1.0)
    z = np.where(gripped | (f.height > 2e-3), _move(f.goal[:, 0] + 5e-3 - f.height), 0.0)
    z = np.where(gripped | (f.height > 2e-3), 0.3 * z, _move(-f.palm[:, 2]))
    return np.stack([z, close, close, close], axis=1)


def _reach(f: Features) -> Array:
    """Pull the tendons in the direction of the target, damped by the velocity of the tip."""
    angles = 2.0 * np.pi / 3.0 * np.arange(3)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    error, velocity = (f.object - f.palm)[:, :2], f.velocity[:, :2]
    pull = 18.0 * f.object[:, :2] + 10.0 * error + 12.0 * velocity
    tension = 0.5 * TENSION + 2.0 / 3.0 * pull @ directions
    now = 0.5 * TENSION * (f.target[:, :3] + 1.0)
    return np.asarray(np.clip((tension - now) / (0.02 * TENSION_RATE), -1.0, 1.0))


def _insert(f: Features) -> Array:
    aside = f.extra[:, :2] - f.object[:, :2] - [HOLE_OFFSET, 0.0]
    aligned = np.linalg.norm(aside, axis=1) < 1.5e-3
    z = np.where(aligned | (f.object[:, 2] - 0.035 < -0.178), -0.5, 0.0)
    return np.concatenate([_move(2 * aside), z[:, None], np.zeros((len(z), 1))], axis=1)


def _rotate_valve(f: Features) -> Array:
    low = f.palm[:, 2] < 3e-3
    gripped = _gripped(f, 8.0)
    close = np.where(gripped, 0.05, np.where(low, 1.0, -1.0))
    error = f.goal[:, 0] - f.extra[:, 0]
    rotate = np.where(
        gripped | (np.abs(f.extra[:, 0]) > 0.02), np.clip(error / 0.1, -0.5, 0.5), 0.0
    )
    return np.stack([_move(-f.palm[:, 2]), rotate, close], axis=1)


def _two_hands(f: Features) -> Array:
    low = f.palm[:, 2] < 3e-3
    gripped = _gripped(f, 8.0, 4)
    raised = f.height > 2e-3
    close = np.where(gripped, 0.1, np.where(low | raised, 1.0, -1.0))
    up = 0.3 * _move(f.goal[:, 0] + 5e-3 - f.height)
    z = np.where(gripped | raised, up, _move(-f.palm[:, 2]))
    return np.stack([z, z, close, close], axis=1)


SCRIPTS: dict[str, Callable[[Features], Array]] = {
    "CloseAndHold": _close_and_hold,
    "Lift": _lift,
    "LiftAny": _lift_any,
    "InHandRotation": _roll,
    "Regrasp": _regrasp,
    "SoftLift": _soft_lift,
    "SoftReach": _reach,
    "ClutteredPick": _lift,
    "Insertion": _insert,
    "Valve": _rotate_valve,
    "TwoHands": _two_hands,
}
"""Scripted policy of each task: noise-free quantities to actions of its channels, (n, na)."""
