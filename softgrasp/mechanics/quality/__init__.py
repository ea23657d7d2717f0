"""How good a grasp is: mechanics of contacts as plain functions on arrays.

Conventions, which docs/quality.md tells measure by measure: normals point INTO the object; contact
frames are (normal, t1, t2); wrenches are force over moment about ``center``, moments divided by
``torque_scale``; friction forces have unit normal component unless ``edge_norm="unit"``; (n, 2)
points and normals mean the plane with wrenches (fx, fy, m).
"""

from softgrasp.mechanics.quality.bounds import (
    EpsilonBounds,
    ForceClosure,
    epsilon_bounds,
    force_closure,
    is_force_closure,
)
from softgrasp.mechanics.quality.contact_frames import contact_frames
from softgrasp.mechanics.quality.contact_models import selection_matrix
from softgrasp.mechanics.quality.friction_margin import (
    cone_distance,
    force_distribution,
    friction_margin,
)
from softgrasp.mechanics.quality.grasp_matrix import grasp_matrix
from softgrasp.mechanics.quality.graspability import (
    Graspability,
    controllable_internal_forces,
    graspability,
    internal_forces,
)
from softgrasp.mechanics.quality.hand_jacobian import contact_jacobians, hand_jacobian
from softgrasp.mechanics.quality.manipulability import (
    Manipulability,
    hand_object_jacobian,
    manipulability,
)
from softgrasp.mechanics.quality.measures import (
    distance_to_singularity,
    ellipsoid_volume,
    isotropy,
    manipulability_volume,
    min_singular_value,
    uniformity_of_transformation,
)
from softgrasp.mechanics.quality.quasistatic import (
    QuasistaticMaps,
    Response,
    quasistatic,
    quasistatic_maps,
)
from softgrasp.mechanics.quality.robustness import (
    Robustness,
    contact_robustness,
    grasp_robustness,
    pcr,
    pgr,
)
from softgrasp.mechanics.quality.stiffness import contact_compliance, grasp_stiffness
from softgrasp.mechanics.quality.wrench_space import WrenchSpace, epsilon, volume, wrench_space

__all__ = [
    "EpsilonBounds",
    "ForceClosure",
    "Graspability",
    "Manipulability",
    "QuasistaticMaps",
    "Response",
    "Robustness",
    "WrenchSpace",
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
    "quasistatic",
    "quasistatic_maps",
    "selection_matrix",
    "uniformity_of_transformation",
    "volume",
    "wrench_space",
]
