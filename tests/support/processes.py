"""Processes that others start."""

import os
import time
from pathlib import Path
from typing import Any


def children_of(process: int) -> list[int]:
    """Processes that a process has started."""
    result = []
    for task in Path(f"/proc/{process}/task").iterdir():
        result += [int(child) for child in (task / "children").read_text().split()]
    return result


def are_gone(processes: list[int], patience: float = 10.0) -> bool:
    """Whether processes have ended, at the latest after some time [s]."""
    end = time.monotonic() + patience
    while there := [process for process in processes if Path(f"/proc/{process}").exists()]:
        if time.monotonic() > end:
            return not there
        time.sleep(0.1)
    return True


def dies_with_cubes(hand: Any, item: Any) -> dict[str, Any]:
    """Work of a benchmark of hands that ends its process where the object is a cube."""
    if item.name.startswith("cube"):
        os._exit(1)
    return {"hand": hand.name, "object": item.name, "outcome": "HELD", "message": ""}
