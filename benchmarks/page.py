"""Measure everything and write docs/data/speed.md; on a machine with nothing else to do.

python benchmarks/page.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measured import Line, machine, show

PAGE = Path(__file__).parents[1] / "docs" / "data" / "speed.md"


def one_grasp() -> Iterator[Line]:
    """The closed loop of the demo."""
    import softgrasp as sg
    from softgrasp.comparison.closure_speed import closure_speed

    speed = closure_speed(sg.load_scene("demo"))
    yield Line(f"demo scene, {speed.steps} steps, raw engine [steps/s]", f"{speed.raw_steps_s:.0f}")
    yield Line("closed loop, speed over raw", f"{speed.plain_ratio:.2f}", "at least 0.75")


def main() -> None:
    """Measure, print and write."""
    # here, because the workers of sweeps read this file again, and would load all of it
    import calibration_speed
    import environment_speed
    import pybullet_grasp
    import quality_speed
    import startup_speed
    import sweep_speed

    from softgrasp._version import __version__

    sections = {
        "One grasp": one_grasp(),
        "Starts of the command line": startup_speed.lines(),
        "Many grasps": sweep_speed.lines(),
        "Environments of reinforcement learning": environment_speed.lines(),
        "The same grasp in PyBullet": pybullet_grasp.lines(),
        "Calibration of a finger": calibration_speed.lines(),
        "Grasp quality": quality_speed.lines(),
    }
    parts = [f"softgrasp {__version__} on {machine()}.\n"]
    for title, lines in sections.items():
        print(f"-- {title}")
        table = ["| | measured | target | why it is missed |", "|---|---|---|---|"]
        table += [
            f"| {line.what} | {line.measured} | {line.target} | {line.reason} |"
            for line in show(lines)
        ]
        parts.append(f"### {title}\n\n" + "\n".join(table) + "\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
