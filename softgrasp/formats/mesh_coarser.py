"""Meshes with fewer triangles, for formats that cannot hold them all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import BackendUnavailable


def coarser(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A mesh with at most some number of triangles, by quadric edge collapse.

    Args:
        vertices: (n, 3) [m]
        faces: (m, 3)
        most: Triangles that it may have.

    Raises:
        BackendUnavailable: fast-simplification is not installed.
    """
    if len(faces) <= most:
        return vertices, faces
    import trimesh

    try:
        mesh = trimesh.Trimesh(vertices, faces, process=True)
        found = mesh.simplify_quadric_decimation(face_count=most)
    except (ImportError, ModuleNotFoundError) as error:
        raise BackendUnavailable(
            "making meshes coarser needs fast-simplification: pip install 'softgrasp[mesh]'"
        ) from error
    return np.asarray(found.vertices, dtype=float), np.asarray(found.faces, dtype=np.int64)
