"""Grasp quality measures and contact mechanics as plain functions on arrays.

Conventions, which docs/quality.md explains for every measure: normals point INTO the object;
contact frames are (normal, t1, t2); wrenches are force over moment about ``center``, moments
divided by ``torque_scale``; friction forces have unit normal component unless ``edge_norm="unit"``;
(n, 2) points and normals select the plane with wrenches (fx, fy, m).
"""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "quality.contact_forces": (
        "Robustness",
        "can_balance",
        "contact_robustness",
        "friction_margin",
        "grasp_robustness",
        "pcr",
        "pgr",
    ),
    "quality.contact_models": (
        "contact_frames",
        "contact_jacobians",
        "grasp_matrix",
        "hand_jacobian",
        "selection_matrix",
    ),
    "quality.grasp_wrench_space": (
        "EpsilonBounds",
        "ForceClosure",
        "WrenchSpace",
        "epsilon",
        "epsilon_bounds",
        "force_closure",
        "is_force_closure",
        "pyramid_bounds",
        "volume",
        "wrench_space",
    ),
    "quality.matrix_measures": (
        "Manipulability",
        "distance_to_singularity",
        "ellipsoid_volume",
        "hand_object_jacobian",
        "isotropy",
        "manipulability",
        "manipulability_volume",
        "min_singular_value",
        "smallest_singular_value",
        "uniformity_of_transformation",
        "Graspability",
        "controllable_internal_forces",
        "graspability",
        "internal_forces",
    ),
    "quality.stiffness": (
        "QuasistaticMaps",
        "Response",
        "contact_compliance",
        "grasp_stiffness",
        "quasistatic",
        "quasistatic_maps",
    ),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
