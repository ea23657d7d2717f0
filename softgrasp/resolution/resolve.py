"""Resolve a scene: carried pose, closure, grasp, time step and start, in this order.

Each step returns the scene with its values and their origins; a value that the scene states is kept
by all of them. Only the grasp needs simulations (``object_grasp``), whose results are kept on disk.
"""

from __future__ import annotations

import warnings
from os import PathLike

from softgrasp.description.resolved import Origin, ResolvedScene
from softgrasp.description.scene import GraspScene
from softgrasp.io.scene import as_scene
from softgrasp.model.arm import with_carried_pose
from softgrasp.model.object import with_default_grasp
from softgrasp.model.timestep import resolve_timestep
from softgrasp.resolution.closure import with_sufficient_closure
from softgrasp.resolution.start import with_clear_start

Origins = dict[str, Origin]


def resolve(scene: GraspScene | ResolvedScene | str | PathLike[str]) -> ResolvedScene:
    """Make every value of a scene concrete; a resolved scene is returned as it is.

    Equal scenes have equal values in every verb, environment and process.

    Args:
        scene: The scene, with what was stated only, its library name or its file.

    Raises:
        BuildError: The scene cannot start: bodies overlap, or no time step fits the contact.
        DescriptionError: The arm cannot reach the start, or a file cannot be read.

    Warns:
        SoftgraspWarning: A computed value that the user should know of.
    """
    scene = as_scene(scene)
    if isinstance(scene, ResolvedScene):
        return scene
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            resolved = _resolve(scene)
    finally:
        for warning in caught:
            warnings.warn(warning.message, stacklevel=2)
    messages = dict.fromkeys(str(warning.message) for warning in caught)
    return ResolvedScene(
        scene, resolved.scene, resolved.timestep, resolved.origins, tuple(messages)
    )


def _resolve(described: GraspScene) -> ResolvedScene:
    origins: Origins = {}
    kind = with_default_grasp(described)
    if kind.grasp == "precision" and "grasp" not in described.model_fields_set:
        reason = "the object is within the payload of the precision grasp"
        origins["grasp"] = Origin("computed", reason)
    scene = with_carried_pose(kind)
    if scene is not kind:
        origins["hand_pose"] = Origin("computed", f"at rest on the {scene.arm.kind} carrier")  # type: ignore[union-attr]
    scene = with_sufficient_closure(scene, origins)
    if scene.preset.per_object and scene.hand.soft_fingers and not scene.hand.fingers:
        from softgrasp.resolution.soft_grasp import with_soft_grasp

        scene = with_soft_grasp(scene, origins)
    elif scene.preset.per_object or scene.adapts_grasp:
        from softgrasp.resolution.object_grasp import with_object_grasp  # loads meshes

        scene = with_object_grasp(scene, origins)
    timestep = resolve_timestep(scene)
    if scene.timestep is None:
        origins["timestep"] = Origin("computed", "the longest that contacts and springs allow")
    scene = with_clear_start(scene, timestep, origins)
    return ResolvedScene(described, scene, timestep, origins)
