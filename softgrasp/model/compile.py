"""Compilation of specs, and compiled models that are changed to another object.

``compiled`` rewrites MuJoCo's errors to name the described item. ``put_object`` writes the numbers
of an object into a compiled model, as if it had been compiled with it: the object alone is
compiled, and MuJoCo computes the constants of the model again. ``scratch_data`` is a MuJoCo state
for short computations: making one takes longer than most of them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

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


# Models changed to another object

BODY_FIELDS = ("pos", "quat", "ipos", "iquat", "mass", "inertia")
GEOM_FIELDS = ("size", "aabb", "rbound", "pos", "quat")
"""Fields of ``mjModel`` in which objects of one kind of shape differ, without their prefixes; all
others are constants that MuJoCo computes from them."""


def put_object(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    alone: mujoco.MjModel,
    body: str,
    geoms: Sequence[str],
) -> None:
    """Change the free object of a model to another one with the same kind of shape.

    Args:
        model: The model; changed.
        data: A state of it; changed.
        alone: Model of the other object alone, with the same names.
        body: Name of its body, and of its joint.
        geoms: Names of its geoms; none where its shape is the same.
    """
    changed = [("body", body, BODY_FIELDS), *(("geom", geom, GEOM_FIELDS) for geom in geoms)]
    for kind, item, fields in changed:
        index, its = (getattr(one, kind)(item).id for one in (model, alone))
        for field in (f"{kind}_{field}" for field in fields):
            getattr(model, field)[index] = getattr(alone, field)[its]
    first, its = model.joint(body).qposadr[0], alone.joint(body).qposadr[0]
    for name in ("qpos0", "qpos_spring"):
        getattr(model, name)[first : first + 7] = getattr(alone, name)[its : its + 7]
    mujoco.mj_setConst(model, data)


class Statistics(NamedTuple):
    """Statistics of a model, as its compiler computes them (``mjStatistic``)."""

    meaninertia: float
    meanmass: float
    meansize: float
    extent: float
    center: tuple[float, float, float]


SMALLEST_SIZE, INFINITE_PLANE = 1e-5, 0.01
"""Smallest size of a body, and radius that stands for an infinite plane [m]."""


def statistics_are_known(model: mujoco.MjModel) -> bool:
    """Return whether ``set_statistics`` repeats the compiler's statistics of a model."""
    stat = model.stat
    written = (stat.meaninertia, stat.meanmass, stat.meansize, stat.extent, tuple(stat.center))
    return written == statistics(model, scratch_data(model))


def set_statistics(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Write the statistics of a changed model, which scale the tolerance of the solver.

    Args:
        model: The model; changed.
        data: A state of it; changed.
    """
    for name, value in statistics(model, data)._asdict().items():
        setattr(model.stat, name, value)


def statistics(model: mujoco.MjModel, data: mujoco.MjData) -> Statistics:
    """Compute the statistics of a model without flexes and height fields at ``qpos0``.

    Sums are taken in the order of the compiler, so that they are equal bit for bit.
    """
    moving = model.nbody - 1
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    radius = np.array(model.geom_rbound)
    for plane in np.flatnonzero(radius <= 0.0).tolist():
        radius[plane] = 0.1 * float(model.geom_size[plane, :2].max()) or INFINITE_PLANE
    centres, geoms = data.xipos, data.geom_xpos
    corners = (geoms - radius[:, None], geoms + radius[:, None])
    points = np.concatenate(
        [data.xpos[1:], centres[1:], data.xanchor, data.site_xpos, *corners], axis=0
    )
    low, high = points.min(axis=0), points.max(axis=0)
    sizes = np.zeros(model.nbody)
    np.maximum.at(sizes, model.jnt_bodyid, _distances(centres[model.jnt_bodyid], data.xanchor))
    away = radius + _distances(centres[model.geom_bodyid], geoms)
    np.maximum.at(sizes, model.geom_bodyid, away)
    size = mass = inertia = 0.0
    for item in np.maximum(sizes, SMALLEST_SIZE)[1:].tolist():
        size += item / moving
    for item in model.body_mass[1:].tolist():
        mass += item
    for item in model.dof_M0.tolist():
        inertia += item
    extent = max(SMALLEST_SIZE, float((high - low).max()), 2.0 * size)
    x, y, z = ((low + high) * 0.5).tolist()
    return Statistics(inertia / model.nv, mass / moving, size, extent, (x, y, z))


def _distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute distances of points, (n,), summed in the order of the compiler."""
    x, y, z = (one - other).T
    return np.asarray(np.sqrt(x * x + y * y + z * z))
