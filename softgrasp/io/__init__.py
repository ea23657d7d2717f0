"""Files to descriptions and back: YAML, URDF, U(C)RDF, MJCF, meshes, tables, scenes and results."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "evaluation.result_builder": ("write_joint_states",),
    "evaluation.result_files": ("load_result", "save_result"),
    "io.files": ("RESULT_FILE", "TRAJECTORY_FILE"),
    "io.hand": ("load_arm", "load_finger", "save_finger", "save_hand"),
    "io.load": ("load_hand", "load_object", "load_robot"),
    "io.mesh_files": ("coarser", "mass_properties", "read_triangles", "Triangles"),
    "io.mesh_repair": ("hull_of",),
    "io.scene": (
        *("load_camera", "load_criterion", "load_release", "load_scene"),
        *("save_camera", "save_release", "save_scene"),
    ),
    "io.tables": ("Column", "column_names", "read_table", "with_numbers"),
    "io.urdf": ("write_robot",),
    "model.export": ("save_urdf",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
