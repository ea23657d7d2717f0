"""Digital twin of a pneumatic soft gripper (Xiang et al. 2024)."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "twin.commands": ("Command", "VENT"),
    "twin.description": (
        "CartesianFields",
        "FlangeSample",
        "GripperMount",
        "HttpFlange",
        "MountedPose",
        "PressureFit",
        "RegisterMap",
        "Twin",
    ),
    "twin.files": (
        "load_camera",
        "load_flange_samples",
        "load_piece_angles",
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
        "flange_transform",
        "roots_in_flange",
        "twin_shape",
    ),
    "twin.flange_server": ("SimulatedRobot", "open_flange"),
    "twin.robot_server": ("RobotServer",),
    "twin.loop": ("poll", "run_twin"),
    "twin.modbus_server": ("controller_server",),
    "twin.pneumatic_controller": (
        "ControllerReading",
        "Valve",
        "connect_controller",
    ),
    "twin.piecewise_bending": (
        "FitReport",
        "angles_at",
        "fit_pressures",
        "pressure_for",
    ),
    "twin.record": ("read_twin_record",),
    "vision.point_picking": ("Picks", "direction_rows", "picked_angles"),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
