"""Descriptions of hands, objects, contacts, closures and scenes: frozen, validated values."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "description.actuation": ("Coupling", "Pulley", "Synergies", "Tendon"),
    "description.arm": ("Arm", "HandCarrier", "RobotProgram"),
    "description.bendable": (
        "Backbone", "Bendable", "Chamber", "CurvatureLimits", "DEFAULT_LINKS", "Fluid",
        "HydraulicDrive", "Hydraulics", "Inertial", "Origin", "Piston", "TipLoad", "Tube",
    ),
    "description.calibration": (
        "CalibrationProblem", "FingerRelease", "FreeBend", "HungAngles", "Release", "TipForce",
    ),
    "description.closure": (
        "ForceLimitedClosure", "JointTorqueClosure", "PositionIncrementClosure", "PressureClosure",
        "SynergyIncrementClosure", "UnderactuatedClosure",
    ),
    "description.contact": (
        "AdhesionPad", "Bellows", "Contact", "NativeLaw", "Patch", "resolve_contact",
        "SourceValues", "SuctionCup",
    ),
    "description.finger": ("Finger", "Phalanx"),
    "description.geometry": (
        "Capsule", "Compound", "Cuboid", "Cylinder", "Ellipsoid", "Mesh", "Part", "Pose", "Sphere",
        "Superellipsoid",
    ),
    "description.hand": ("GraspPreset", "Grasps", "Hand", "Palm", "Preshape"),
    "description.object": (
        "Block", "Elasticity", "GraspObject", "Lift", "Material", "PlacedObject", "Table", "Wall",
    ),
    "description.robot": (
        "ControlledJoint", "ControlSystem", "Interface", "Link", "LinkShape", "RigidJoint", "Robot",
    ),
    "description.scene": ("GraspScene", "Solver", "STANDARD_GRAVITY"),
    "description.sensor": (
        "ForceTorqueSensor", "JointTorqueSensor", "PinholeCamera", "SensorErrors", "TactileSensor",
    ),
    "description.soft_finger": (
        "MountedSoftFinger", "PressureLag", "SoftFinger", "SoftJoint", "SoftLink",
    ),
    "description.sweep": (
        "Axis", "GraspPlan", "ImportedGrasp", "PoseNoise", "PoseSampling", "SweepPlan",
    ),
    "description.task": (
        "ApproachPhase", "ClosePhase", "HoldPhase", "LiftPhase", "MovePhase", "PlacePhase",
        "PreshapePhase", "Pull", "ReleasePhase", "ShakePhase", "SuccessCriterion",
    ),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
