"""Contact models by the names that a command line uses."""

from __future__ import annotations

from softgrasp.description.field_path import with_field
from softgrasp.description.objects import Elasticity
from softgrasp.description.scene import GraspScene

CONTACT_MODELS = {
    "compliant": (
        "normal force over penetration as asked in N/m, damping in N·s/m, Coulomb friction (the "
        "default; paper 004, eq 1)"
    ),
    "soft-finger": (
        "the same, and a moment about the normal up to that of a soft patch (contact.patch; Howe "
        "and Cutkosky 1996)"
    ),
    "native": "MuJoCo's own time constant, damping ratio and impedance (contact.native)",
    "deformable": (
        "the object is an elastic solid (object.elasticity), whose surface has a contact of "
        "MuJoCo's own"
    ),
}
"""Name, and what it is."""
YOUNG = 1e5
"""Young's modulus of an object that is made deformable by name only [Pa]: soft rubber foam."""


def with_contact_model(scene: GraspScene, name: str) -> GraspScene:
    """The scene with a contact model of ``CONTACT_MODELS``."""
    if name != "deformable":
        return with_field(scene, "contact.model", name)
    elasticity = scene.object.elasticity or Elasticity(young=YOUNG)
    return scene.replace(object=scene.object.replace(elasticity=elasticity))
