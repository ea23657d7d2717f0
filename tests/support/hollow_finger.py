"""A bellows finger with a chamber that follows its lobes, as a mesh."""

import trimesh

from tests.support.bellows_mesh import bellows_mesh

LENGTH, END, FLOOR = 0.08, 1.6e-3, 3e-3
EDGE = 4e-3
"""Length of the edges of the mesh [m]."""


def hollow_finger(edge: float = EDGE) -> trimesh.Trimesh:
    """A finger of 80 mm with seven valleys and walls of 1 to 3 mm [m]."""
    outer = bellows_mesh(7, length=LENGTH, height=0.022, depth=0.011, resolution=edge)
    inner = bellows_mesh(
        (outer.valleys - END).tolist(),
        length=LENGTH - 2.0 * END,
        width=0.017,
        height=0.022 - FLOOR - 1.5e-3,
        depth=0.0105,
        resolution=edge,
    ).surface
    inner.apply_translation([END, 0.0, FLOOR])
    inner.invert()
    return trimesh.util.concatenate([outer.surface, inner])
