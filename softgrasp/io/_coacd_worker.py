"""Script that runs CoACD on one file: ``python _coacd_worker.py IN.npz OUT.npz CPU_SECONDS``.

CoACD runs for seconds to minutes in native code that cannot be interrupted, and aborts the process
on some surfaces; a separate process protects the caller from both. The system ends it after its
CPU time, as it does not terminate on some surfaces.
"""

import sys
from contextlib import suppress

import coacd
import numpy as np


def main(source: str, target: str, cpu_seconds: str) -> None:
    """Decompose the surface of one archive and write the vertices of its parts to another."""
    with suppress(ImportError):  # Windows has no limits of CPU time
        import resource

        limit = int(cpu_seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    with np.load(source, allow_pickle=False) as arrays:
        mesh = coacd.Mesh(arrays["vertices"], arrays["faces"])
        threshold, seed = float(arrays["threshold"]), int(arrays["seed"])
        mode = "on" if arrays["preprocess"] else "off"
        names = ("mcts_nodes", "mcts_iterations", "mcts_max_depth", "resolution")
        search = {name: int(arrays[name]) for name in names}
    coacd.set_log_level("info")  # logs its rounds on standard output
    parts = coacd.run_coacd(mesh, threshold=threshold, preprocess_mode=mode, seed=seed, **search)
    sizes = np.array([len(points) for points, _ in parts], dtype=np.int64)
    points = np.vstack([np.empty((0, 3)), *(points for points, _ in parts)])
    np.savez(target, points=points, sizes=sizes)


if __name__ == "__main__":
    main(*sys.argv[1:4])
