"""Contacts in motion against closed forms, over time step, impedance, friction rate and impratio.

Prints the tables of docs/contact.md and decisions 0004 and 0006, and exits with 1 where a target of
``tests/support/contact_rigs.py`` is missed at its converged step. Balls of 30 mm radius: 0.079 kg
(700 kg/m³), 0.89 kg (7860 kg/m³) and 2.18 kg (19250 kg/m³).

    python benchmarks/contact_dynamics.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import softgrasp as sg
from softgrasp.mechanics.contact_stiffness import friction_rate
from softgrasp.sim.stiffness_feedback import RESOLVED
from tests.support import contact_rigs as rigs

K, D = 1e5, 300.0
DEFAULT = 1e-3
"""Default time step of this contact [s]."""
LIGHT, STEEL, GOLD = 0.079, 0.89, 2.18
PRESS, HARD = 11.1, 43.0
"""Forces on each side of a pressed ball [N]."""
STEPS = (1e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3)
PHASES = (0.0, 0.25, 0.5, 0.75)
"""Where in a step a ball touches first [–]."""
SPEEDS = (0.01, 0.05, 0.2)
RATES = (100.0, 300.0, None, 1000.0, 3000.0, 10000.0)
Solver = sg.description.Solver


class Target(NamedTuple):
    """A measured value at the converged step and what it has to be."""

    what: str
    value: float
    exact: float
    tolerance: float

    @property
    def met(self) -> bool:
        """Whether the value is near enough."""
        return abs(self.value - self.exact) <= self.tolerance


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table as soon as its rows are there."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def over_law(value: float, exact: float) -> str:
    """Format a deviation in percent."""
    return f"{100.0 * (value / exact - 1.0):+.1f}"


def impact_rows(contact: sg.Contact) -> Iterable[list[str]]:
    """Rows of bounces at 0.1 m/s: largest and mean depth, and restitution, by time step."""
    stiffness, damping = contact.stiffness, contact.damping
    for mass in (LIGHT, STEEL, GOLD):
        exact = rigs.exact_bounce(mass, stiffness, damping)
        row = [f"{mass} kg", f"{1e6 * exact.depth:.1f} µm, {exact.restitution:.3f}"]
        for step in STEPS:
            if step > contact.largest_timestep:
                row.append("–")
                continue
            found = [rigs.bounce(mass, step, gap=gap, contact=contact) for gap in PHASES]
            mean = sum(item.depth for item in found) / len(found)
            worst, mean = found[0].depth / exact.depth, mean / exact.depth
            row.append(f"{worst:.2f} ({mean:.2f}), {found[0].restitution:.3f}")
        yield [*row, f"{1e3 * RESOLVED * mass / damping:.2g}"]


def impedance_rows() -> Iterable[list[str]]:
    """Rows of what a constraint impedance d does to a body in motion, at the converged step."""
    period, decrement = rigs.exact_oscillation(GOLD, K, D)
    for impedance in (0.5, 0.1, 0.01, 0.001):
        solver = Solver(impedance=impedance)
        found = rigs.oscillation(GOLD, rigs.FINE, 200.0, solver=solver)
        bounces = [
            over_law(rigs.bounce(mass, rigs.FINE, solver=solver).depth,
                     rigs.exact_bounce(mass, K, D).depth)
            for mass in (LIGHT, STEEL)
        ]  # fmt: skip
        yield [str(impedance), over_law(found[0], period), over_law(found[1], decrement), *bounces]


def step_rows() -> Iterable[list[str]]:
    """Rows of oscillation, slip, rise and breakaway by time step, at defaults."""
    period, decrement = rigs.exact_oscillation(GOLD, K, D)
    for step in STEPS:
        found = rigs.oscillation(GOLD, step, 200.0)
        slips = [f"{1e6 * rigs.slip(LIGHT, PRESS, speed, step):.3g}" for speed in SPEEDS]
        rises = [f"{1e3 * rigs.slide(speed, step)[1]:.2g}" for speed in (0.1, 1.0)]
        yield [
            f"{step:g}",
            f"{friction_rate(K, D, step):.0f}",
            over_law(found[0], period),
            over_law(found[1], decrement),
            ", ".join(slips),
            ", ".join(rises),
            over_law(rigs.breakaway(LIGHT, PRESS, step), 1.0),
        ]


def rate_rows() -> Iterable[list[str]]:
    """Rows of slip and rise by friction rate, at the default time step."""
    for rate in RATES:
        solver = Solver(friction_rate=rate)
        name = f"{friction_rate(K, D, DEFAULT):.0f} (default)" if rate is None else f"{rate:.0f}"
        slips = [
            f"{1e6 * rigs.slip(LIGHT, PRESS, speed, DEFAULT, solver=solver):.3g}"
            for speed in SPEEDS
        ]
        slides = [rigs.slide(speed, DEFAULT, solver=solver) for speed in (0.1, 1.0)]
        yield [name, *slips, *(f"{1e3 * height:.2g}" for _, height in slides)]


def creep_rows() -> Iterable[list[str]]:
    """Rows of creep at 95 % of the friction limit by impratio, at the default time step."""
    for impratio in (10.0, 100.0, 1e3, 1e4, 1e5, 1.2e6):
        solver = Solver(impratio=impratio)
        measured = rigs.creep(GOLD, HARD, DEFAULT, solver=solver)
        rate = friction_rate(K, D, DEFAULT)
        formula = 0.95 * HARD / 2.0 / (DEFAULT * D * impratio) * (1.0 / rate + DEFAULT)
        yield [f"{impratio:g}", f"{1e6 * measured:.3g}", f"{1e6 * formula:.3g}"]


def targets() -> Iterable[Target]:
    """Everything that has a closed form, at the converged step."""
    for mass in (LIGHT, STEEL, GOLD):
        found, exact = rigs.bounce(mass, rigs.FINE), rigs.exact_bounce(mass, K, D)
        allowed = (rigs.DEPTH * exact.depth, rigs.DURATION * exact.duration, rigs.RESTITUTION)
        for name, item, law, tolerance in zip(exact._fields, found, exact, allowed, strict=True):
            yield Target(f"{name} of a bounce, {mass} kg", item, law, tolerance)
    measured = rigs.oscillation(GOLD, rigs.FINE, 200.0)
    period, decrement = rigs.exact_oscillation(GOLD, K, D)
    yield Target("period", measured[0], period, rigs.PERIOD * period)
    yield Target("decrement", measured[1], decrement, rigs.DECREMENT * decrement)
    for speed in SPEEDS:
        exact_slip = rigs.coulomb_slip(LIGHT, PRESS, speed)
        yield Target(f"slip from {speed} m/s", rigs.slip(LIGHT, PRESS, speed, rigs.FINE),
                     exact_slip, max(rigs.SLIP * exact_slip, rigs.SLIP_FLOOR))  # fmt: skip
    yield Target("breakaway", rigs.breakaway(LIGHT, PRESS, 2e-5), 1.0, rigs.BREAKAWAY)
    yield Target("rise at 1 m/s", rigs.slide(1.0, 2e-5)[1], 0.0, rigs.RISE)
    yield Target("creep", rigs.creep(GOLD, HARD, DEFAULT), 0.0, rigs.CREEP)


def main() -> int:
    """Print the tables; return 1 where a target is missed."""
    for contact in (sg.Contact(), sg.Contact(stiffness=1e6, damping=1000.0)):
        show(
            f"Bounce at 0.1 m/s, K = {contact.stiffness:g} N/m, D = {contact.damping:g} N·s/m: "
            "depth over the law (mean of first touches anywhere in a step), restitution",
            ("ball", "law", *(f"{step:g} s" for step in STEPS), "resolved below [ms]"),
            impact_rows(contact),
        )
    show(
        "Impedance d at 1e-5 s: deviation from the law [%]",
        ("d", "period", "decrement", "depth, 79 g", "depth, 0.89 kg"),
        impedance_rows(),
    )
    show(
        "Time step, defaults",
        ("step [s]", "friction rate [1/s]", "period [%]", "decrement [%]",
         "slip from 0.01, 0.05, 0.2 m/s [µm]", "rise at 0.1, 1 m/s [mm]", "breakaway [%]"),
        step_rows(),
    )  # fmt: skip
    coulomb = [f"{1e6 * rigs.coulomb_slip(LIGHT, PRESS, speed):.3g}" for speed in SPEEDS]
    show(
        f"Friction rate at {DEFAULT:g} s (Coulomb: {', '.join(coulomb)} µm; no rise)",
        ("friction rate [1/s]", *(f"slip from {speed} m/s [µm]" for speed in SPEEDS),
         "rise at 0.1 m/s [mm]", "at 1 m/s [mm]"),
        rate_rows(),
    )  # fmt: skip
    show(
        "Creep of 2.18 kg at 95 % of the friction limit, 20.4 N a contact, at 1e-3 s",
        ("impratio", "creep [µm/s]", "formula [µm/s]"),
        creep_rows(),
    )
    found = list(targets())
    rows = [(*map("{:.4g}".format, item[1:]), "yes" if item.met else "MISSED") for item in found]
    show(
        "Targets at the converged step",
        ("", "measured", "exact", "tolerance", "met"),
        ((item.what, *row) for item, row in zip(found, rows, strict=True)),
    )
    return 0 if all(item.met for item in found) else 1


if __name__ == "__main__":
    sys.exit(main())
