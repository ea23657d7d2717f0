"""Digital twin of a pneumatic soft gripper (Xiang et al. 2024)."""

from __future__ import annotations

from softgrasp.plugin_api import lazy_names

NAMES = {
    "twin.pneumatic_controller": (
        "Command", "VENT", "connect_controller", "ControllerReading", "Valve",
    ),
    "twin.description": (
        "CartesianFields", "FlangeSample", "GripperMount", "HttpFlange", "MountedPose",
        "PressureFit", "RegisterMap", "Twin",
    ),
    "twin.files": (
        "load_camera", "load_flange_samples", "load_piece_angles", "load_pressure_fit",
        "load_register_map", "load_robot_program", "load_twin", "save_camera",
        "save_flange_samples", "save_pressure_fit",
    ),
    "twin.piecewise_bending": (
        "flange_transform", "roots_in_flange", "twin_shape", "TwinShape", "angles_at",
        "fit_pressures", "FitReport", "pressure_for",
    ),
    "twin.flange_streams": ("open_flange", "SimulatedRobot"),
    "twin.robot_server": ("RobotServer",),
    "twin.loop": ("poll", "run_twin"),
    "twin.modbus_server": ("controller_server",),
    "twin.record": ("read_twin_record",),
    "vision.point_picking": ("direction_rows", "pick_angles", "Picks"),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
