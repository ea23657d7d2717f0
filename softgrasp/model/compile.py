"""Compiling a spec, with MuJoCo's complaints turned into sentences."""

from __future__ import annotations

import re

import mujoco

from softgrasp.errors import BuildError

_TOO_LIGHT = ("inertia must have positive", "mjMINVAL")


def compiled(spec: mujoco.MjSpec, what: str) -> mujoco.MjModel:
    """Compile a spec.

    Args:
        spec: The spec.
        what: What it describes, for the sentence.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    try:
        return spec.compile()
    except ValueError as error:
        raise BuildError(f"{what}: {_explained(' '.join(str(error).split()))}") from error


def _explained(words: str) -> str:
    element = re.search(r"Element name '([^']*)'", words)
    where = f"'{element[1]}': " if element else ""
    if any(mark in words for mark in _TOO_LIGHT):
        return (
            f"{where}expected a body that MuJoCo can move (mass and moments of inertia above "
            "1e-15 kg and kg·m²), found a smaller one; give it more mass, or a larger size"
        )
    return f"{where}MuJoCo refuses the model: {words.removeprefix('Error: ')}"
