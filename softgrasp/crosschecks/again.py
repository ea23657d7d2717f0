"""How to run a comparison again: the words of the command line, or the call in Python."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from softgrasp.crosschecks.tolerances import Tolerances
from softgrasp.description.release import FingerRelease
from softgrasp.description.scene import GraspScene


def command_line(
    source: str,
    backends: Iterable[str],
    *,
    timestep: float | None = None,
    tolerances: Iterable[str] = (),
    quick: bool = False,
) -> str:
    """The words that compare the same again; those that say where files go are left out.

    Args:
        source: Name or file of the scene, as it was given.
        backends: Names of the engines.
        timestep: Of the physics [s], where it was given.
        tolerances: NAME=VALUE, as they were given.
        quick: Whether other time steps and critical loads were left out.
    """
    words = ["softgrasp", "crosscheck", source, "--backends", ",".join(backends)]
    if timestep is not None:
        words += ["--timestep", f"{timestep!r}"]
    for setting in tolerances:
        words += ["--tolerance", setting]
    return shlex.join([*words, "--quick"] if quick else words)


def python_call(
    subject: GraspScene | FingerRelease,
    backends: tuple[str, ...],
    tolerances: Tolerances,
    quick: bool,
) -> str:
    """The call that compares the same again.

    Args:
        subject: What was simulated.
        backends: Names of the engines.
        tolerances: How far they might differ.
        quick: Whether other time steps and critical loads were left out.
    """
    words = ["release" if isinstance(subject, FingerRelease) else "scene", f"{backends!r}"]
    changed = tolerances.model_dump(exclude_defaults=True)
    if changed:
        fields = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        words.append(f"tolerances=sg.Tolerances({fields})")
    if quick:
        words.append("quick=True")
    return f"sg.crosscheck({', '.join(words)})"
