"""Grasp quality measures and contact mechanics as plain functions on arrays.

Conventions, which docs/quality.md explains for every measure: normals point INTO the object;
contact frames are (normal, t1, t2); wrenches are force over moment about ``center``, moments
divided by ``torque_scale``; friction forces have unit normal component unless ``edge_norm="unit"``;
(n, 2) points and normals select the plane with wrenches (fx, fy, m).
"""

from softgrasp.quality.contact_forces import (
    Robustness,
    can_balance,
    cone_distance,
    contact_robustness,
    force_distribution,
    friction_margin,
    grasp_robustness,
    pcr,
    pgr,
)
from softgrasp.quality.contact_models import (
    contact_frames,
    contact_jacobians,
    grasp_matrix,
    hand_jacobian,
    selection_matrix,
)
from softgrasp.quality.grasp_wrench_space import (
    EpsilonBounds,
    ForceClosure,
    WrenchSpace,
    epsilon,
    epsilon_bounds,
    force_closure,
    is_force_closure,
    pyramid_bounds,
    volume,
    wrench_space,
)
from softgrasp.quality.matrix_measures import (
    Manipulability,
    distance_to_singularity,
    ellipsoid_volume,
    hand_object_jacobian,
    isotropy,
    manipulability,
    manipulability_volume,
    min_singular_value,
    uniformity_of_transformation,
)
from softgrasp.quality.null_spaces import (
    Graspability,
    controllable_internal_forces,
    graspability,
    internal_forces,
)
from softgrasp.quality.stiffness import (
    QuasistaticMaps,
    Response,
    contact_compliance,
    grasp_stiffness,
    quasistatic,
    quasistatic_maps,
)

__all__ = [
    "EpsilonBounds",
    "ForceClosure",
    "Graspability",
    "Manipulability",
    "QuasistaticMaps",
    "Response",
    "Robustness",
    "WrenchSpace",
    "can_balance",
    "cone_distance",
    "contact_compliance",
    "contact_frames",
    "contact_jacobians",
    "contact_robustness",
    "controllable_internal_forces",
    "distance_to_singularity",
    "ellipsoid_volume",
    "epsilon",
    "epsilon_bounds",
    "force_closure",
    "force_distribution",
    "friction_margin",
    "grasp_matrix",
    "grasp_robustness",
    "grasp_stiffness",
    "graspability",
    "hand_jacobian",
    "hand_object_jacobian",
    "internal_forces",
    "is_force_closure",
    "isotropy",
    "manipulability",
    "manipulability_volume",
    "min_singular_value",
    "pcr",
    "pgr",
    "pyramid_bounds",
    "quasistatic",
    "quasistatic_maps",
    "selection_matrix",
    "uniformity_of_transformation",
    "volume",
    "wrench_space",
]
