"""Grasp simulation: from a hand and an object to contacts, forces, figures, video and report.

    import softgrasp as sg

    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("strawberry"))
    result = sg.simulate(scene)
    print(result.outcome.name, result.message)
    sg.write_report(result, "out")

Load       load_hand, load_object, load_scene: a shipped name, or a URDF, MJCF, YAML or mesh file
Describe   Hand, GraspObject, Contact, GraspScene, Pose, …; change one by .replace(field=value)
Simulate   simulate, sweep, grasp_ensemble, plan_grasps; resolve shows every value beforehand
Learn      make_env (Gymnasium), make_dm_env
Show       write_report, render_video, sg.viewer
Measure    calibrate (soft fingers), inspect (files), sg.quality (ε), sg.continuum (PCC, RLD)
Export     compile_model, build_spec, to_mjcf, save_scene, load_result
Errors     SoftgraspError and its kinds: what was expected, what was found, what cures it

The submodules (``sg.io``, ``sg.description``, …) have the rest, each with its own ``help``.
Everything is imported when it is first used, so ``import softgrasp`` is cheap.
"""

from __future__ import annotations

import os

from softgrasp._gymnasium import register_once_imported
from softgrasp._lazy import lazy_names
from softgrasp._version import __version__

if os.environ.get("MUJOCO_GL"):
    from softgrasp.assets import drop_unusable_choice

    drop_unusable_choice()

NAMES = {
    "calibration": ("=calibration",),
    "calibration.calibrate": ("calibrate",),
    "checks": ("=checks",),
    "checks.inspect": ("inspect",),
    "comparison": ("=comparison",),
    "continuum": ("=continuum",),
    "continuum.pcc": ("=pcc",),
    "continuum.rld": ("=rld",),
    "continuum_control": ("=control",),
    "description": ("=description",),
    "description.closure": ("PositionIncrementClosure",),
    "description.contact": ("Contact",),
    "description.geometry": ("Cuboid", "Cylinder", "Mesh", "Pose", "Sphere"),
    "description.hand": ("Hand",),
    "description.object": ("GraspObject", "Table", "Wall"),
    "description.scene": ("GraspScene",),
    "description.soft_finger": ("SoftFinger",),
    "description.task": ("SuccessCriterion",),
    "envs": ("=envs", "make_dm_env", "make_env"),
    "exports": ("=exports",),
    "errors": (
        "BackendUnavailable", "BuildError", "DescriptionError", "ResultError", "SimulationError",
        "SoftgraspError", "SoftgraspWarning", "=errors",
    ),
    "hydraulics": ("=hydraulics",),
    "io": ("=io",),
    "io.load": ("load_hand", "load_object"),
    "io.scene": ("load_scene", "save_scene"),
    "mechanics": ("=mechanics",),
    "model": ("=model",),
    "quality": ("=quality",),
    "rendering": ("=rendering",),
    "rendering.video": ("render_video",),
    "report": ("=report",),
    "report.grasp_report": ("write_report",),
    "resolution": ("=resolution",),
    "resolution.resolve": ("resolve",),
    "sim": ("=sim",),
    "evaluation": ("=evaluation",),
    "evaluation.analysis": ("analysis_of",),
    "evaluation.outcome": ("GraspStatus", "Outcome"),
    "evaluation.result": ("GraspResult",),
    "evaluation.result_files": ("load_result",),
    "pipeline": ("build_spec", "compile_model", "simulate", "to_mjcf"),
    "plugin_api": ("=plugin_api",),
    "sim.soft_dynamics": ("stable_timestep",),
    "sim.soft_statics": ("equilibrium",),
    "soft": ("=soft",),
    "sweeps": ("=sweeps",),
    "sweeps.ensemble": ("grasp_ensemble",),
    "sweeps.planner": ("plan_grasps",),
    "sweeps.run": ("sweep",),
    "twin": ("=twin",),
    "viewer": ("=viewer",),
    "vision": ("=vision",),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
__all__ += ["__version__"]

register_once_imported()
