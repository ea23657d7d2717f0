"""Descriptions of hands, objects, contacts, closures and scenes: frozen, validated values."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "description.actuation": ("Coupling", "Pulley", "Synergies", "Tendon"),
    "description.arm": ("RobotProgram",),
    "description.bendable": ("Backbone", "Bendable", "Chamber", "Inertial"),
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
    "description.contact": ("Contact", "NativeLaw", "Patch"),
    "description.finger": ("Finger", "Phalanx"),
    "description.geometry": (
        "Capsule",
        "Compound",
        "Cuboid",
        "Cylinder",
        "Ellipsoid",
        "Mesh",
        "Part",
        "Pose",
        "Sphere",
        "Superellipsoid",
    ),
    "description.hand": ("GraspPreset", "Grasps", "Hand", "Palm", "Preshape"),
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
    "description.robot": ("Link", "LinkShape", "Robot"),
    "description.scene": ("GraspScene", "Solver"),
    "description.sensor": (
        "ForceTorqueSensor",
        "JointTorqueSensor",
        "PinholeCamera",
        "SensorErrors",
        "TactileSensor",
    ),
    "description.soft_finger": ("MountedSoftFinger", "SoftFinger", "SoftJoint", "SoftLink"),
    "description.sweep": (
        "Axis",
        "ImportedGrasp",
        "GraspPlan",
        "PoseNoise",
        "PoseSampling",
        "SweepPlan",
    ),
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
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
