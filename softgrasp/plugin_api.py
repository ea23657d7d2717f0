"""What satellites and other distributions use of the core, besides the public names of its rooms.

A satellite adds an engine, a hand carrier, a calibration, a verb or a file format; see
``extensions`` for how the core finds it. It imports these names, public names of rooms
(``softgrasp.mechanics``, ``softgrasp.io``, …), and ``errors``, ``units`` and ``assets``; a test
refuses everything else. No module of the core imports this one.
"""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    # Descriptions: bases and field types of frozen, validated values
    "description.base": (
        *("Description", "FieldError", "NonNegative", "Number", "Positive"),
        *("Vec3", "Vec4", "is_loopback", "path_text", "require_unique", "short", "unit_quaternion"),
    ),
    "description.calibration": ("ExtensionProblem",),
    "description.closure_base": ("ActuationModel",),
    # Compiled scene: MuJoCo models of scenes, and parts of models of hand carriers
    "model.closing_check": ("closing_obstacle",),
    "model.contact_pairs": ("torsion_of", "with_objects", "with_surroundings"),
    "model.hand": ("add_mechanism", "settle"),
    "model.hand_carrier": ("CarrierModel", "CarrierRest"),
    "model.robot": ("add_segment_actuators",),
    "model.scene": ("CompiledScene", "build", "start_targets"),
    "model.shapes": ("set_inertia",),
    "pipeline": ("compile_scene",),
    # Running: controller, time steps and phases of a closure
    "sim.control_state": ("ClosureLayout", "ClosureState", "closure_layout"),
    "sim.laws": ("=laws",),
    "sim.grasp_run": (*("ClosureRun", "LARGEST_SPEED", "Progress", "max_rows", "plan_samples"),),
    "sim.hold_test": ("gravity_steps", "palm_body"),
    "sim.motion_plan": ("lift_path",),
    "sim.step_refinement": ("StepRefinement", "lagging_as_described"),
    "sim.stepper": ("MujocoStepper", "Stepper", "TargetBacktracking"),
    "sim.stiffness_feedback": ("=stiffness_feedback", "StiffnessFeedback"),
    # Sweeping: rows of a sweep plan
    "sweeps.dataset": ("ExtraOutputs",),
    "sweeps.executors": ("Rows", "local_executor"),
    "sweeps.families": ("PlanFamilies",),
    # Command line: options, output, errors
    "cli.names": ("require_shipped",),
    "cli.options": ("=options",),
    "cli.terminal": ("=terminal",),
    # Files: reading with limits and positions of errors, writing, reports
    "io.files": ("atomic_path", "note_written", "remove_written", "report_progress", "write_text"),
    "io.input_limits": ("check_size", "json_from", "loader", "read_json", "result_loader"),
    "io.result": ("write_result",),
    "io.urdf.reader": ("make_of_robot",),
    "io.yaml_files": (
        "Tree",
        "YamlFile",
        "description_tree",
        "dump",
        "pose_tree",
        "scaled",
        "take_units",
    ),
    "report.grasp_report": ("embed", "embed_image", "templates"),
    # References of a satellite, and its public names, imported when they are first used
    "extensions": ("CalibrationExtension", "CarrierExtension"),
    "_lazy": ("lazy_names",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
