"""softgrasp: grasp simulation from a hand and an object to numbers, pictures and film.

Everything public is named here and loaded when it is first used, so that ``import softgrasp``
costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from softgrasp._version import __version__

if os.environ.get("MUJOCO_GL"):
    from softgrasp.assets import drop_unusable_choice

    drop_unusable_choice()

if TYPE_CHECKING:
    from softgrasp import hydraulics, quality
    from softgrasp.calibration.calibrate import calibrate
    from softgrasp.calibration.files import load_problem
    from softgrasp.calibration.result import CalibrationResult, save_calibration
    from softgrasp.checks.inspect import inspect
    from softgrasp.checks.repair import Repair, repaired, repairs
    from softgrasp.checks.report import Finding, Inspection
    from softgrasp.comparison.compare import CrosscheckResult, crosscheck, save_crosscheck
    from softgrasp.comparison.criteria import Tolerances
    from softgrasp.continuum import pcc, rld
    from softgrasp.continuum.rld import finger_from_bendable
    from softgrasp.description.arm import RobotProgram
    from softgrasp.description.calibration import (
        CalibrationProblem,
        FingerRelease,
        FreeBend,
        HungAngles,
        Release,
        TipForce,
    )
    from softgrasp.description.closure import (
        ForceLimitedClosure,
        JointTorqueClosure,
        PositionIncrementClosure,
        PressureClosure,
        SynergyIncrementClosure,
        UnderactuatedClosure,
    )
    from softgrasp.description.contact import Contact, NativeLaw, Patch
    from softgrasp.description.finger import Coupling, Finger, Phalanx, Pulley, Tendon
    from softgrasp.description.geometry import (
        Capsule,
        Cuboid,
        Cylinder,
        Ellipsoid,
        Mesh,
        Part,
        Pose,
        Sphere,
        Superellipsoid,
    )
    from softgrasp.description.hand import GraspPreset, Grasps, Hand, Palm, Preshape
    from softgrasp.description.object import (
        Block,
        Elasticity,
        GraspObject,
        Lift,
        Material,
        PlacedObject,
        Table,
        Wall,
    )
    from softgrasp.description.scene import GraspScene, Solver
    from softgrasp.description.sensor import (
        ForceTorqueSensor,
        JointTorqueSensor,
        PinholeCamera,
        SensorErrors,
        TactileSensor,
    )
    from softgrasp.description.soft_finger import MountedSoftFinger, SoftFinger, SoftJoint, SoftLink
    from softgrasp.description.sweep import Axis, GraspPlan, PoseNoise, PoseSampling, SweepPlan
    from softgrasp.description.synergy import Synergies
    from softgrasp.description.task import (
        ApproachPhase,
        ClosePhase,
        HoldPhase,
        LiftPhase,
        MovePhase,
        PreshapePhase,
        Pull,
        ShakePhase,
        SuccessCriterion,
    )
    from softgrasp.envs import make_dm_env, make_env
    from softgrasp.errors import (
        BackendUnavailable,
        BuildError,
        DescriptionError,
        DeviceError,
        ResultError,
        SimulationError,
        SoftgraspError,
        SoftgraspWarning,
    )
    from softgrasp.hydraulics.arm import ArmChain
    from softgrasp.hydraulics.calibration import (
        ArmCalibrationProblem,
        ArmCalibrationResult,
        ArmMotion,
        recorded_motion,
    )
    from softgrasp.hydraulics.control import ArmBendPid, Pid
    from softgrasp.hydraulics.description import HydraulicArm, HydraulicCarrier
    from softgrasp.hydraulics.experiment_report import write_hydraulic_experiments
    from softgrasp.hydraulics.experiments import hydraulic_experiment, run_hydraulic_experiments
    from softgrasp.hydraulics.files import load_hydraulic_arm, load_torques, save_hydraulic_arm
    from softgrasp.hydraulics.report import write_arm_report
    from softgrasp.hydraulics.run import ArmRun, run_arm
    from softgrasp.io.hand import load_finger, save_finger, save_hand
    from softgrasp.io.load import load_hand, load_object
    from softgrasp.io.object import load_criterion
    from softgrasp.io.robot import load_robot
    from softgrasp.io.scene import load_release, load_scene, save_release, save_scene
    from softgrasp.io.soft_finger_mesh import finger_from_mesh
    from softgrasp.mechanics.contact import hertz_patch_radius
    from softgrasp.mechanics.hand_kinematics import PlacedHand, forward_kinematics, joined_hands
    from softgrasp.mechanics.synergy import synergy_weights, variance_explained
    from softgrasp.model.export import save_urdf, with_convention
    from softgrasp.model.scene import build_spec, compile_model, to_mjcf
    from softgrasp.rendering.video import render_video
    from softgrasp.report.calibration import write_calibration_report
    from softgrasp.report.comparison import write_crosscheck_report
    from softgrasp.report.grasp_page import write_report
    from softgrasp.sim.analysis import GraspAnalysis, analysis_of
    from softgrasp.sim.result import (
        ContactEvent,
        GraspResult,
        GraspStatus,
        HoldTest,
        OtherContact,
        PhaseSpan,
        SensorReading,
    )
    from softgrasp.sim.result_builder import write_joint_states
    from softgrasp.sim.serialization import load_result, save_result
    from softgrasp.sim.simulate import simulate
    from softgrasp.sim.soft_dynamics import FingerMotion, move_finger, stable_timestep
    from softgrasp.sim.soft_statics import Equilibrium, equilibrium
    from softgrasp.sweeps.planner import PlannedGrasps, plan_grasps
    from softgrasp.sweeps.run import sweep
    from softgrasp.twin.accuracy import accuracy_study
    from softgrasp.twin.description import (
        FlangeSample,
        GripperMount,
        MountedPose,
        PressureFit,
        RegisterMap,
        Twin,
    )
    from softgrasp.twin.files import (
        load_camera,
        load_flange_samples,
        load_pressure_fit,
        load_register_map,
        load_robot_program,
        load_twin,
        save_camera,
        save_flange_samples,
        save_pressure_fit,
    )
    from softgrasp.twin.finger_pieces import (
        TwinShape,
        chord_pieces,
        mounted_fingers,
        rigid_pieces,
        twin_shape,
    )
    from softgrasp.twin.flange_server import SimulatedRobot, open_flange
    from softgrasp.twin.loop import run_twin
    from softgrasp.twin.modbus_client import ControllerReading
    from softgrasp.twin.modbus_server import Valve, connect_controller, controller_server
    from softgrasp.twin.piecewise_bending import FitReport, angles_at, fit_pressures, pressure_for
    from softgrasp.twin.point_picking import Picks, picked_angles
    from softgrasp.twin.record import read_twin_record

_PACKAGES = {
    "calibration.calibrate": ("calibrate",),
    "calibration.files": ("load_problem",),
    "calibration.result": (
        "CalibrationResult",
        "save_calibration",
    ),
    "checks.inspect": ("inspect",),
    "checks.repair": (
        "Repair",
        "repaired",
        "repairs",
    ),
    "checks.report": (
        "Finding",
        "Inspection",
    ),
    "comparison.compare": (
        "CrosscheckResult",
        "crosscheck",
        "save_crosscheck",
    ),
    "comparison.criteria": ("Tolerances",),
    "continuum.rld": ("finger_from_bendable",),
    "description.arm": ("RobotProgram",),
    "description.calibration": (
        "CalibrationProblem",
        "FingerRelease",
        "FreeBend",
        "HungAngles",
        "Release",
        "TipForce",
    ),
    "description.closure": (
        "ForceLimitedClosure",
        "JointTorqueClosure",
        "PositionIncrementClosure",
        "PressureClosure",
        "SynergyIncrementClosure",
        "UnderactuatedClosure",
    ),
    "description.contact": (
        "Contact",
        "NativeLaw",
        "Patch",
    ),
    "description.finger": (
        "Coupling",
        "Finger",
        "Phalanx",
        "Pulley",
        "Tendon",
    ),
    "description.geometry": (
        "Capsule",
        "Cuboid",
        "Cylinder",
        "Ellipsoid",
        "Mesh",
        "Part",
        "Pose",
        "Sphere",
        "Superellipsoid",
    ),
    "description.hand": (
        "GraspPreset",
        "Grasps",
        "Hand",
        "Palm",
        "Preshape",
    ),
    "description.object": (
        "Block",
        "Elasticity",
        "GraspObject",
        "Lift",
        "Material",
        "PlacedObject",
        "Table",
        "Wall",
    ),
    "description.scene": (
        "GraspScene",
        "Solver",
    ),
    "description.sensor": (
        "ForceTorqueSensor",
        "JointTorqueSensor",
        "PinholeCamera",
        "SensorErrors",
        "TactileSensor",
    ),
    "description.soft_finger": (
        "MountedSoftFinger",
        "SoftFinger",
        "SoftJoint",
        "SoftLink",
    ),
    "description.sweep": (
        "Axis",
        "GraspPlan",
        "PoseNoise",
        "PoseSampling",
        "SweepPlan",
    ),
    "description.synergy": ("Synergies",),
    "description.task": (
        "ApproachPhase",
        "ClosePhase",
        "HoldPhase",
        "LiftPhase",
        "MovePhase",
        "PreshapePhase",
        "Pull",
        "ShakePhase",
        "SuccessCriterion",
    ),
    "envs": (
        "make_dm_env",
        "make_env",
    ),
    "errors": (
        "BackendUnavailable",
        "BuildError",
        "DescriptionError",
        "DeviceError",
        "ResultError",
        "SimulationError",
        "SoftgraspError",
        "SoftgraspWarning",
    ),
    "hydraulics.arm": ("ArmChain",),
    "hydraulics.calibration": (
        "ArmCalibrationProblem",
        "ArmCalibrationResult",
        "ArmMotion",
        "recorded_motion",
    ),
    "hydraulics.control": (
        "ArmBendPid",
        "Pid",
    ),
    "hydraulics.description": (
        "HydraulicArm",
        "HydraulicCarrier",
    ),
    "hydraulics.experiment_report": ("write_hydraulic_experiments",),
    "hydraulics.experiments": (
        "hydraulic_experiment",
        "run_hydraulic_experiments",
    ),
    "hydraulics.files": (
        "load_hydraulic_arm",
        "load_torques",
        "save_hydraulic_arm",
    ),
    "hydraulics.report": ("write_arm_report",),
    "hydraulics.run": (
        "ArmRun",
        "run_arm",
    ),
    "io.hand": (
        "load_finger",
        "save_finger",
        "save_hand",
    ),
    "io.load": (
        "load_hand",
        "load_object",
    ),
    "io.object": ("load_criterion",),
    "io.robot": ("load_robot",),
    "io.scene": (
        "load_release",
        "load_scene",
        "save_release",
        "save_scene",
    ),
    "io.soft_finger_mesh": ("finger_from_mesh",),
    "mechanics.contact": ("hertz_patch_radius",),
    "mechanics.hand_kinematics": (
        "PlacedHand",
        "forward_kinematics",
        "joined_hands",
    ),
    "mechanics.synergy": (
        "synergy_weights",
        "variance_explained",
    ),
    "model.export": (
        "save_urdf",
        "with_convention",
    ),
    "model.scene": (
        "build_spec",
        "compile_model",
        "to_mjcf",
    ),
    "rendering.video": ("render_video",),
    "report.calibration": ("write_calibration_report",),
    "report.comparison": ("write_crosscheck_report",),
    "report.grasp_page": ("write_report",),
    "sim.analysis": (
        "GraspAnalysis",
        "analysis_of",
    ),
    "sim.result": (
        "ContactEvent",
        "GraspResult",
        "GraspStatus",
        "HoldTest",
        "OtherContact",
        "PhaseSpan",
        "SensorReading",
    ),
    "sim.result_builder": ("write_joint_states",),
    "sim.serialization": (
        "load_result",
        "save_result",
    ),
    "sim.simulate": ("simulate",),
    "sim.soft_dynamics": (
        "FingerMotion",
        "move_finger",
        "stable_timestep",
    ),
    "sim.soft_statics": (
        "Equilibrium",
        "equilibrium",
    ),
    "sweeps.planner": (
        "PlannedGrasps",
        "plan_grasps",
    ),
    "sweeps.run": ("sweep",),
    "twin.accuracy": ("accuracy_study",),
    "twin.description": (
        "FlangeSample",
        "GripperMount",
        "MountedPose",
        "PressureFit",
        "RegisterMap",
        "Twin",
    ),
    "twin.files": (
        "load_camera",
        "load_flange_samples",
        "load_pressure_fit",
        "load_register_map",
        "load_robot_program",
        "load_twin",
        "save_camera",
        "save_flange_samples",
        "save_pressure_fit",
    ),
    "twin.finger_pieces": (
        "TwinShape",
        "chord_pieces",
        "mounted_fingers",
        "rigid_pieces",
        "twin_shape",
    ),
    "twin.flange_server": (
        "SimulatedRobot",
        "open_flange",
    ),
    "twin.loop": ("run_twin",),
    "twin.modbus_client": ("ControllerReading",),
    "twin.modbus_server": (
        "Valve",
        "connect_controller",
        "controller_server",
    ),
    "twin.piecewise_bending": (
        "FitReport",
        "angles_at",
        "fit_pressures",
        "pressure_for",
    ),
    "twin.point_picking": (
        "Picks",
        "picked_angles",
    ),
    "twin.record": ("read_twin_record",),
}
_MODULES = {
    "hydraulic": "softgrasp.hydraulics",
    "pcc": "softgrasp.continuum.pcc",
    "quality": "softgrasp.quality",
    "rld": "softgrasp.continuum.rld",
}
_PACKAGE_OF = {name: module for module, names in _PACKAGES.items() for name in names}

__all__ = [
    "ApproachPhase",
    "ArmBendPid",
    "ArmCalibrationProblem",
    "ArmCalibrationResult",
    "ArmChain",
    "ArmMotion",
    "ArmRun",
    "Axis",
    "BackendUnavailable",
    "Block",
    "BuildError",
    "CalibrationProblem",
    "CalibrationResult",
    "Capsule",
    "ClosePhase",
    "Contact",
    "ContactEvent",
    "ControllerReading",
    "Coupling",
    "CrosscheckResult",
    "Cuboid",
    "Cylinder",
    "DescriptionError",
    "DeviceError",
    "Elasticity",
    "Ellipsoid",
    "Equilibrium",
    "Finding",
    "Finger",
    "FingerMotion",
    "FingerRelease",
    "FitReport",
    "FlangeSample",
    "ForceLimitedClosure",
    "ForceTorqueSensor",
    "FreeBend",
    "GraspAnalysis",
    "GraspObject",
    "GraspPlan",
    "GraspPreset",
    "GraspResult",
    "GraspScene",
    "GraspStatus",
    "Grasps",
    "GripperMount",
    "Hand",
    "HoldPhase",
    "HoldTest",
    "HungAngles",
    "HydraulicArm",
    "HydraulicCarrier",
    "Inspection",
    "JointTorqueClosure",
    "JointTorqueSensor",
    "Lift",
    "LiftPhase",
    "Material",
    "Mesh",
    "MountedPose",
    "MountedSoftFinger",
    "MovePhase",
    "NativeLaw",
    "OtherContact",
    "Palm",
    "Part",
    "Patch",
    "Phalanx",
    "PhaseSpan",
    "Picks",
    "Pid",
    "PinholeCamera",
    "PlacedHand",
    "PlacedObject",
    "PlannedGrasps",
    "Pose",
    "PoseNoise",
    "PoseSampling",
    "PositionIncrementClosure",
    "Preshape",
    "PreshapePhase",
    "PressureClosure",
    "PressureFit",
    "Pull",
    "Pulley",
    "RegisterMap",
    "Release",
    "Repair",
    "ResultError",
    "RobotProgram",
    "SensorErrors",
    "SensorReading",
    "ShakePhase",
    "SimulatedRobot",
    "SimulationError",
    "SoftFinger",
    "SoftJoint",
    "SoftLink",
    "SoftgraspError",
    "SoftgraspWarning",
    "Solver",
    "Sphere",
    "SuccessCriterion",
    "Superellipsoid",
    "SweepPlan",
    "Synergies",
    "SynergyIncrementClosure",
    "Table",
    "TactileSensor",
    "Tendon",
    "TipForce",
    "Tolerances",
    "Twin",
    "TwinShape",
    "UnderactuatedClosure",
    "Valve",
    "Wall",
    "__version__",
    "accuracy_study",
    "analysis_of",
    "angles_at",
    "build_spec",
    "calibrate",
    "chord_pieces",
    "compile_model",
    "connect_controller",
    "controller_server",
    "crosscheck",
    "equilibrium",
    "finger_from_bendable",
    "finger_from_mesh",
    "fit_pressures",
    "forward_kinematics",
    "hertz_patch_radius",
    "hydraulic_experiment",
    "hydraulics",
    "inspect",
    "joined_hands",
    "load_camera",
    "load_criterion",
    "load_finger",
    "load_flange_samples",
    "load_hand",
    "load_hydraulic_arm",
    "load_object",
    "load_pressure_fit",
    "load_problem",
    "load_register_map",
    "load_release",
    "load_result",
    "load_robot",
    "load_robot_program",
    "load_scene",
    "load_torques",
    "load_twin",
    "make_dm_env",
    "make_env",
    "mounted_fingers",
    "move_finger",
    "open_flange",
    "pcc",
    "picked_angles",
    "plan_grasps",
    "pressure_for",
    "quality",
    "read_twin_record",
    "recorded_motion",
    "render_video",
    "repaired",
    "repairs",
    "rigid_pieces",
    "rld",
    "run_arm",
    "run_hydraulic_experiments",
    "run_twin",
    "save_calibration",
    "save_camera",
    "save_crosscheck",
    "save_finger",
    "save_flange_samples",
    "save_hand",
    "save_hydraulic_arm",
    "save_pressure_fit",
    "save_release",
    "save_result",
    "save_scene",
    "save_urdf",
    "simulate",
    "stable_timestep",
    "sweep",
    "synergy_weights",
    "to_mjcf",
    "twin_shape",
    "variance_explained",
    "with_convention",
    "write_arm_report",
    "write_calibration_report",
    "write_crosscheck_report",
    "write_hydraulic_experiments",
    "write_joint_states",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _PACKAGE_OF:
        value = getattr(import_module(f"softgrasp.{_PACKAGE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'softgrasp' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
