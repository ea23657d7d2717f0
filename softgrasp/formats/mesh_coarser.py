"""Meshes with fewer triangles and the same volume.

Quadric edge collapse (Garland, Heckbert: Surface simplification using quadric error metrics,
SIGGRAPH 1997) cuts corners: flat triangles between points of a round surface lie inside it, so a
coarser mesh is smaller. The mesh is grown about its centre of mass to the volume that it had, which
spreads the error to both sides of the surface. That is right for what is round (YCB strawberry and
pear with 200 faces: volume −2.5 and −2.7 % before, moments of inertia within 0.7 % after) and does
not replace triangles where walls are thin (mug with 200 faces: moments 10 % off, with 1600 0.8 %).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import BackendUnavailable

EXTENT = 10.0
"""Size to which a mesh is scaled for the collapse. Its thresholds are absolute: with metres every
collapse is as good as any other (YCB screwdriver with 200 faces: moments 36 % off, 11 % so)."""
MAX_GROWTH = 0.05
"""Change of lengths above which a coarser mesh is left as it is [–]."""


def coarser(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], max_faces: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A mesh with at most some number of triangles and the same volume, by quadric edge collapse.

    Args:
        vertices: (n, 3) [m]
        faces: (m, 3)
        max_faces: Triangles that it may have.

    Raises:
        BackendUnavailable: fast-simplification is not installed.
    """
    if len(faces) <= max_faces:
        return vertices, faces
    import trimesh

    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    scale = EXTENT / float(np.ptp(vertices, axis=0).max())
    try:
        mesh = trimesh.Trimesh((vertices - middle) * scale, faces, process=True)
        reduced = mesh.simplify_quadric_decimation(face_count=max_faces)
    except (ImportError, ModuleNotFoundError) as error:
        raise BackendUnavailable(
            "making meshes coarser needs fast-simplification: pip install 'softgrasp[mesh]'"
        ) from error
    grown = _with_volume(reduced, float(mesh.volume))
    return grown / scale + middle, np.asarray(reduced.faces, dtype=np.int64)


def _with_volume(mesh: object, volume: float) -> NDArray[np.float64]:
    """Vertices of a mesh, grown about its centre of mass to a volume where it takes little."""
    import trimesh

    assert isinstance(mesh, trimesh.Trimesh)
    vertices = np.asarray(mesh.vertices, dtype=float)
    mesh_volume = float(mesh.volume)
    if mesh_volume <= 0.0 or volume <= 0.0:
        return vertices
    growth = (volume / mesh_volume) ** (1.0 / 3.0)
    if abs(growth - 1.0) > MAX_GROWTH:
        return vertices
    centre = np.asarray(mesh.center_mass, dtype=float)
    return np.asarray((vertices - centre) * growth + centre)
