"""Convex decomposition by CoACD, kept on disk by content.

CoACD (Wei, Liu, Ling, Su: Approximate Convex Decomposition for 3D Meshes with
Collision-Aware Concavity and Tree Search, ACM TOG 41(4), 2022) cuts a solid until no part is more
concave than a threshold. Its preprocessing, which makes a new surface from voxels, is off: the
surfaces that come here are closed. Measured on the YCB pear with 2000 faces (threshold 0.03):
201.9 cm³ with and 192.5 cm³ without it, of 191.7 cm³; the largest part has 7750 or 606 vertices.
Separate pieces are cut one by one: where they overlap, CoACD does not come to an end.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import BackendUnavailable, BuildError, ResultError
from softgrasp.formats.atomic import atomic_path
from softgrasp.formats.mesh_repair import piece_labels, signed_volume
from softgrasp.formats.mesh_solid import hull_of
from softgrasp.formats.progress import report_progress

Array: TypeAlias = NDArray[np.float64]
Faces: TypeAlias = NDArray[np.int64]

CACHE_VARIABLE = "SOFTGRASP_CACHE"
PROGRAM = Path(__file__).with_name("coacd_process.py")
SEED = 0
RECIPE = "coacd, no preprocessing, piece by piece, no limit of vertices"
"""Part of the key of what is kept on disk: change it with the way parts are made."""
CONVEX = 0.999
"""Part of its hull that a piece fills to need no cutting [–]."""
UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy raises on a file that is not an archive, or a damaged one."""
ROUND = re.compile(r"iter (\d+) -+ waiting pool: (\d+)")
"""What CoACD logs before each round of cuts."""
OTHERWISE = "use `collision: hull` (hollows are filled), or name convex `parts`"


def decompose(vertices: Array, faces: Faces, threshold: float) -> tuple[Array, ...]:
    """Vertices (k, 3) of convex parts that together stand for a closed surface.

    The same surface and threshold give the same parts; they are read from the disk when they
    have been made before. Inner surfaces around closed cavities are left out.

    Args:
        vertices: (n, 3) [m].
        faces: (m, 3), outward.
        threshold: Concavity below which a part is not cut [–].

    Raises:
        BackendUnavailable: CoACD is not installed.
        BuildError: CoACD failed on this surface.
    """
    kept = cache_directory() / f"parts-{_key(vertices, faces, threshold)}.npz"
    parts = _read(kept)
    if parts is None:
        labels = piece_labels(vertices, faces)
        parts = tuple(
            part
            for label in np.unique(labels)
            for part in _piece_parts(vertices, faces[labels == label], threshold)
        )
        _keep(kept, parts)
    return parts


def cache_directory() -> Path:
    """Where decompositions are kept: ``$SOFTGRASP_CACHE``, else the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "softgrasp"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "softgrasp"


def _key(vertices: Array, faces: Faces, threshold: float) -> str:
    digest = hashlib.sha256(f"{RECIPE}, {SEED}, {threshold!r}, {vertices.shape}".encode())
    digest.update(np.ascontiguousarray(vertices, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(faces, dtype="<i8").tobytes())
    return digest.hexdigest()[:32]


def _piece_parts(vertices: Array, faces: Faces, threshold: float) -> tuple[Array, ...]:
    volume = signed_volume(vertices, faces)
    if volume <= 0:
        return ()
    used, inverse = np.unique(faces, return_inverse=True)
    hull = hull_of(vertices[used])
    if volume >= CONVEX * hull.volume:
        return (hull.vertices,)
    return _cut(vertices[used], inverse.reshape(-1, 3), threshold)


def _cut(vertices: Array, faces: Faces, threshold: float) -> tuple[Array, ...]:
    """Parts of one connected surface, made by CoACD in a process of its own."""
    if importlib.util.find_spec("coacd") is None:
        raise BackendUnavailable(
            "this mesh is not convex and CoACD, which cuts it into convex parts, is not "
            f"installed: pip install 'softgrasp[mesh]'; or {OTHERWISE}"
        )
    with tempfile.TemporaryDirectory(prefix="softgrasp-") as directory:
        source, target = Path(directory) / "surface.npz", Path(directory) / "parts.npz"
        np.savez(source, vertices=vertices, faces=faces, threshold=threshold, seed=SEED)
        code = _followed([sys.executable, str(PROGRAM), str(source), str(target)], len(faces))
        parts = _read(target) if code == 0 else None
    if parts is None:
        raise BuildError(
            f"CoACD could not cut this mesh into convex parts (exit code {code}); {OTHERWISE}"
        )
    return parts


def _followed(command: list[str], faces: int) -> int:
    """Run CoACD to its end, tell how far it is, and return its exit code."""
    what = f"cutting {faces} faces into convex parts"
    report_progress(what)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as run:
        assert run.stdout is not None
        try:
            for line in run.stdout:
                if round_ := ROUND.search(line):
                    report_progress(f"{what}: round {int(round_[1]) + 1}, {round_[2]} left to cut")
        except BaseException:
            run.kill()  # an interrupted user does not wait for it
            raise
    return run.returncode


def _read(file: Path) -> tuple[Array, ...] | None:
    """Parts in a file; None where there is none or it is not whole."""
    try:
        with file.open("rb") as content, np.load(content, allow_pickle=False) as kept:
            points, sizes = kept["points"], kept["sizes"]
    except UNREADABLE:
        return None
    whole = points.ndim == 2 and points.shape[1:] == (3,) and len(sizes) > 0
    if not whole or sizes.sum() != len(points) or not np.isfinite(points).all():
        return None
    return tuple(np.split(points, np.cumsum(sizes)[:-1]))


def _keep(file: Path, parts: tuple[Array, ...]) -> None:
    sizes = np.array([len(points) for points in parts], dtype=np.int64)
    try:
        with atomic_path(file) as temporary, temporary.open("wb") as target:
            np.savez_compressed(target, points=np.vstack(parts), sizes=sizes)
    except (ResultError, OSError):
        return  # a folder that cannot be written only costs time
