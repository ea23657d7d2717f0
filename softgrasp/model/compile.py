"""Compilation of specs, with MuJoCo errors rewritten to name the described item."""

from __future__ import annotations

import re

import mujoco

from softgrasp.errors import BuildError

_TOO_LIGHT = ("inertia must have positive", "mjMINVAL")


def compiled(spec: mujoco.MjSpec, what: str) -> mujoco.MjModel:
    """Compile a spec.

    Args:
        spec: The spec.
        what: Name of the item that it describes, for the message.

    Raises:
        BuildError: MuJoCo rejects it.
    """
    try:
        return spec.compile()
    except ValueError as error:
        raise BuildError(f"{what}: {_explained(' '.join(str(error).split()))}") from error


def _explained(message: str) -> str:
    """Rewrite an error message of MuJoCo in terms of the description."""
    element = re.search(r"Element name '([^']*)'", message)
    where = f"'{element[1]}': " if element else ""
    if any(mark in message for mark in _TOO_LIGHT):
        return (
            f"{where}expected a body that MuJoCo can move (mass and moments of inertia above "
            "1e-15 kg and kg·m²), found a smaller one; give it more mass, or a larger size"
        )
    return f"{where}MuJoCo rejects the model: {message.removeprefix('Error: ')}"
