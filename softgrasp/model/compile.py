"""Compilation of specs, and MuJoCo states for short computations.

``compiled`` rewrites MuJoCo's errors to name the described item. ``scratch_data`` returns a state
that is kept: making one takes longer than most of the computations.
"""

from __future__ import annotations

import re
import threading
from functools import cache

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
        raise BuildError(f"{what}: {_explain(' '.join(str(error).split()))}") from error


def _explain(message: str) -> str:
    """Rewrite an error message of MuJoCo in terms of the description."""
    element = re.search(r"Element name '([^']*)'", message)
    where = f"'{element[1]}': " if element else ""
    if any(mark in message for mark in _TOO_LIGHT):
        return (
            f"{where}expected a body that MuJoCo can move (mass and moments of inertia above "
            "1e-15 kg and kg·m²), found a smaller one; give it more mass, or a larger size"
        )
    return f"{where}MuJoCo rejects the model: {message.removeprefix('Error: ')}"


class _Kept(threading.local):
    """Scratch states of a thread, the last ones by the sizes of their models."""

    def __init__(self) -> None:
        self.states: dict[tuple[int, ...], mujoco.MjData] = {}


_KEPT, MAX_KEPT = _Kept(), 3


def scratch_data(model: mujoco.MjModel) -> mujoco.MjData:
    """Return a MuJoCo state of a model, reset; the next call overwrites it.

    It may have been made for another model of equal sizes, so that names are looked up in the
    model, not in the state.
    """
    sizes, states = sizes_of(model), _KEPT.states
    if sizes not in states:
        while len(states) >= MAX_KEPT:
            del states[next(iter(states))]
        states[sizes] = mujoco.MjData(model)
    mujoco.mj_resetData(model, states[sizes])
    return states[sizes]


def sizes_of(model: mujoco.MjModel) -> tuple[int, ...]:
    """Return all sizes of a model, which determine the layout of its MjData."""
    return tuple([getattr(model, name) for name in _size_names()])


@cache
def _size_names() -> tuple[str, ...]:
    empty = mujoco.MjModel.from_xml_string("<mujoco/>")
    names = (name for name in dir(empty) if name.startswith("n"))
    return tuple(name for name in names if isinstance(getattr(empty, name), int))
