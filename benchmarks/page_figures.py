"""Measure the figures of the pages on closures, scenes and sensors; write docs/data/*.md.

    python benchmarks/page_figures.py                     # all of them, five minutes
    python benchmarks/page_figures.py sensors

The pages include these files, so that no figure is copied by hand.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import softgrasp as sg
from softgrasp.mechanics.transforms import transform

DATA = Path(__file__).parents[1] / "docs" / "data"
CLOSURES = runpy.run_path(str(DATA.parents[1] / "examples" / "06_closures.py"))["CLOSURES"]
"""Closures by their names, those of the example that the page shows."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    for cells in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cells) + " |"


def closing_forces(result: sg.GraspResult) -> tuple[float, float]:
    """Return the normal forces of the fingers and of the palm before the hold test [N]."""
    row = int(np.searchsorted(result.time, result.hold.start_s - 1e-9)) if result.hold else -1
    forces = dict(zip(result.contact_bodies.tolist(), result.normal_force[row], strict=True))
    palm = float(forces.pop("palm"))
    return float(sum(forces.values())), palm


def closures() -> Iterator[str]:
    """One hand, three objects, nine closures."""
    objects, rows = ("sphere", "strawberry", "mug"), []
    for title, closure in CLOSURES.items():
        cells = []
        for name in objects:
            scene = sg.GraspScene(
                hand=sg.load_hand("four_finger"), object=sg.load_object(name), closure=closure,
                success=sg.SuccessCriterion(),
            )  # fmt: skip
            result = sg.simulate(scene)
            fingers, palm = closing_forces(result)
            word = "" if result.held else f" ({result.outcome.name})"
            cells.append(f"{fingers:.1f} N, {palm:.1f} N{word}")
        rows.append((title, *cells))
    yield from table(("closure", "sphere: fingers, palm", "strawberry", "mug"), rows)


def debounce() -> Iterator[str]:
    """Sum of the normal forces of a pinch, by time step and window of the debounce."""
    rows = []
    for step in (1e-3, 5e-4, 2e-4):
        cells = [f"{1e3 * step:g} ms"]
        for grip, period in ((None, step), (None, 1e-3), (7.0, 1e-3)):
            scene = sg.GraspScene(
                hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"),
                grasp="precision", timestep=step, control_period=period,
                closure=sg.PositionIncrementClosure(grip_force=grip),
            )  # fmt: skip
            cells.append(f"{sg.simulate(scene).normal_force[-1].sum():.1f} N")
        rows.append(cells)
    head = ("step", "ten physics steps", "a window of 10 ms", "a window of 10 ms, grip force 7 N")
    yield from table(head, rows)


def scenes() -> Iterator[str]:
    """What happens in the shipped scenes that use the environment."""
    rows = [
        ("against_wall", _pressed_on("against_wall")),
        ("against_wall, 0.45 kg", _pressed_on("against_wall", mass=0.45)),
        ("against_wall, 0.5 kg", _pressed_on("against_wall", mass=0.5)),
        ("up_the_wall", _lifted("up_the_wall")),
        ("up_the_wall, µ 0.3", _lifted("up_the_wall", 0.3)),
        ("up_the_wall, µ 0.5", _lifted("up_the_wall", 0.5)),
        ("corner", _pressed_on("corner")),
        ("table_edge", _taken_from_the_edge()),
        ("four_finger on its wrist", _shaken()),
        ("pick_and_place", sg.simulate(sg.load_scene("pick_and_place")).message),
    ]
    yield from table(("scene", "measured"), rows)


def _pressed_on(name: str, mass: float | None = None) -> str:
    scene = sg.load_scene(name)
    if mass is not None:
        scene = scene.replace(object=scene.object.weighing(mass=mass))
    result = sg.simulate(scene)
    hand = ", ".join(f"{c.normal_force_N:.2f} N" for c in result.contacts if c.in_contact)
    around = ", ".join(f"{c.second} {c.normal_force_N:.2f} N" for c in result.other_contacts)
    hold = result.hold
    drop = "" if hold is None else f"; moves by {1e6 * hold.drop_m:.3g} µm in the test"
    return f"`{result.outcome.name}`; fingers {hand or '–'}; {around or 'nothing else'}{drop}"


def _lifted(name: str, friction: float | None = None) -> str:
    scene = sg.load_scene(name)
    if friction is not None:
        around = [
            part.replace(contact=part.contact.replace(static_friction=friction))
            if part.type == "wall" else part
            for part in scene.surroundings
        ]  # fmt: skip
        scene = scene.replace(surroundings=tuple(around))
    result = sg.simulate(scene)
    hold = result.hold
    assert hold is not None
    pull = ", ".join(
        f"the {c.second} presses with {c.normal_force_N:.2f} N and pulls with "
        f"{c.friction_force_N:.2f} N"
        for c in result.other_contacts
    )
    lifted = f"lifted by {1e3 * (hold.lifted_m or 0.0):.1f} mm, moves by {1e3 * hold.drop_m:.2g} mm"
    return f"`{result.outcome.name}`; {lifted} in the hand; {pull or 'nothing else touches it'}"


def _taken_from_the_edge() -> str:
    result = sg.simulate(sg.load_scene("table_edge"))
    spans = {phase.name: phase for phase in result.phases}
    rows = [int(np.searchsorted(result.time, spans[n].end_s - 1e-9)) for n in ("press", "slide")]
    slid = result.object_position[rows[1], 1] - result.object_position[rows[0], 1]
    middle = 0.5 * (rows[0] + rows[1])
    pressed = result.normal_force[int(middle)]
    first, last = (transform(quaternion=result.object_quat_wxyz[row]) for row in (0, -1))
    tilt = np.degrees(np.arccos(np.clip((last @ first.T)[2, 2], -1.0, 1.0)))
    hold = result.hold
    assert hold is not None
    sliding = " and ".join(f"{force:.1f} N" for force in pressed[pressed > 0.1])
    gripping = ", ".join(f"{c.normal_force_N:.1f} N" for c in result.contacts if c.in_contact)
    beyond = 65.0 + 1e3 * float(result.object_position[rows[1], 1])
    return (
        f"`{result.outcome.name}`; pressed with {sliding}, slid by {1e3 * slid:.0f} mm of the "
        f"70 mm that the fingers go, until {beyond:.0f} mm of it are beyond the edge; taken with "
        f"{gripping}; droops by {tilt:.1f}°, its centre moves by {1e3 * hold.drop_m:.1f} mm in "
        "the hand"
    )


def _shaken() -> str:
    """How much of a shake at 5 Hz the wrist of this hand follows."""
    shake = {"type": "shake", "amplitude": 0.01, "frequency": 5.0, "cycles": 4}
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=sg.load_object("sphere_25"), grasp="precision",
        sequence=("close", shake),
    )  # fmt: skip
    result = sg.simulate(scene)
    start = next(phase.start_s for phase in result.phases if phase.name == "shake")
    rows = result.time >= start
    height = result.object_position[rows, 2]
    share = float(np.abs(height - height[0]).max()) / 0.01
    return f"reaches {100 * share:.1f} % of a shake of 10 mm at 5 Hz"


def sensors() -> Iterator[str]:
    """Debouncing of noisy taxels: first contact, and contacts lost."""
    rows, samples = [], (1, 3, 10)
    for noise in (0.0, 0.03, 0.05, 0.1, 0.2, 0.5):
        cells = [f"{noise:g}"]
        for count in samples:
            result = sg.simulate(_pinch_with_skins(noise=noise, samples=count))
            touched = [event.time_s for event in result.events if event.kind == "established"]
            lost = sum(event.kind == "lost" for event in result.events)
            cells.append(f"{min(touched, default=float('nan')):.3f} s, {lost}")
        rows.append(cells)
    head = ("noise [N]", "1 sample: first contact, contacts lost", "3 samples", "10 samples")
    yield from table(head, rows)


def delays() -> Iterator[str]:
    """Grip force of a hand whose taxels are late."""
    rows = []
    for label, grip in (("7 N of the hand", 7.0), ("none", None)):
        cells = [label]
        for delay in (0.0, 0.005, 0.02, 0.05):
            result = sg.simulate(_pinch_with_skins(delay=delay, grip_force=grip))
            cells.append(f"{max(c.normal_force_N for c in result.contacts):.1f} N")
        rows.append(cells)
    yield from table(("grip force", "no delay", "5 ms", "20 ms", "50 ms"), rows)


def _pinch_with_skins(samples: int = 10, grip_force: float | None = 7.0, **errors: Any) -> Any:
    errors |= {"rows": 1, "columns": 1}
    skins = tuple(
        sg.description.TactileSensor(name=f"tip{i}", body=f"F{i}_P3", **errors) for i in range(1, 5)
    )
    closure = sg.PositionIncrementClosure(sense="sensor", samples=samples, grip_force=grip_force)
    return sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"), grasp="precision",
        closure=closure, sensors=skins,
    )  # fmt: skip


def crosscheck() -> Iterator[str]:
    """Differences between MuJoCo and ODE in three scenes."""
    rows = []
    for name in ("paper000_release", "four_finger_sphere", "four_finger_askew"):
        subject = sg.io.load_release(name) if "release" in name else sg.load_scene(name)
        check = sg.comparison.crosscheck(subject, ("mujoco", "ode"))
        for finding in check.findings:
            if finding.tolerance is not None:
                limit = f"{finding.tolerance:g} {finding.difference_unit}"
                verdict = "within" if finding.passed else "**beyond**"
                cells = (f"{finding.difference:.2g} {finding.difference_unit}", limit, verdict)
                rows.append((f"`{name}`", finding.quantity, *cells))
    yield from table(("scene", "quantity", "largest difference", "tolerance", ""), rows)


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "closures": closures, "debounce": debounce, "scenes": scenes, "sensors": sensors,
    "delays": delays, "crosscheck": crosscheck,
}  # fmt: skip


def main() -> None:
    """Write the named tables, or all."""
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or TABLES:
        text = "\n".join(TABLES[name]()) + "\n"
        print(f"-- {name}\n{text}")
        (DATA / f"page_{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
