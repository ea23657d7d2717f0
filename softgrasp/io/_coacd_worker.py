"""Runs CoACD on one file, as a process of its own: ``python coacd_process.py IN.npz OUT.npz``.

CoACD runs for seconds to minutes in native code that cannot be interrupted, and a surface that it
does not like ends the process. Neither may happen to the caller.
"""

import sys

import coacd
import numpy as np


def main(source: str, target: str) -> None:
    """Decompose the surface in one archive and write the vertices of its parts to another."""
    with np.load(source, allow_pickle=False) as arrays:
        mesh = coacd.Mesh(arrays["vertices"], arrays["faces"])
        threshold, seed = float(arrays["threshold"]), int(arrays["seed"])
    coacd.set_log_level("info")  # its rounds, on standard output
    parts = coacd.run_coacd(mesh, threshold=threshold, preprocess_mode="off", seed=seed)
    sizes = np.array([len(points) for points, _ in parts], dtype=np.int64)
    points = np.vstack([np.empty((0, 3)), *(points for points, _ in parts)])
    np.savez(target, points=points, sizes=sizes)


if __name__ == "__main__":
    main(*sys.argv[1:3])
