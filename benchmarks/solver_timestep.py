"""Solver and time step against contact times, final pose and cost (paper 004, section 3).

The paper names 1e-5 s "through numerous tests" and shows none. This runs one pinch with every
integrator and time step; docs/contact.md has some of the rows. Costs are processor time, the best
of three where a run is short, over that of the default step and integrator in the same table.

    python benchmarks/solver_timestep.py
"""

from __future__ import annotations

import time

import numpy as np

import softgrasp as sg

TIMESTEPS = (1e-5, 1e-4, 5e-4, 1e-3)
SHORT = 5e-4
"""Runs with time steps from here on take less than a second [s]."""
INTEGRATORS = ("discrete", "implicitfast", "euler")
HEAD = (
    "| integrator | time step s | first touch s | established s | final z mm | squeeze N "
    "| F/pen error % | held | cost |"
)


def pinch(integrator: str, timestep: float, contact: sg.Contact, density: float) -> sg.GraspResult:
    """A ball offset by 2 mm, so that contact times differ, closed on and held."""
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"),
        object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.03), density=density),
        object_position=(0.0, 0.002, -0.085),
        grasp="precision",
        contact=contact,
        timestep=timestep,
        solver=sg.description.Solver(integrator=integrator),
        success=sg.SuccessCriterion(),
    )
    return sg.simulate(scene)


def timed(
    integrator: str, timestep: float, contact: sg.Contact, density: float
) -> tuple[sg.GraspResult, float]:
    """A pinch and the processor time that it took [s]: wall time depends on who else is here."""
    costs = []
    for _ in range(3 if timestep >= SHORT else 1):
        begin = time.process_time()
        result = pinch(integrator, timestep, contact, density)
        costs.append(time.process_time() - begin)
    return result, min(costs)


def row(result: sg.GraspResult, cost: float, contact: sg.Contact) -> str:
    """One line of the table."""
    times = {kind: [e.time_s for e in result.events if e.kind == kind] for kind in
             ("touching", "established")}  # fmt: skip
    measured = list(result.contact_model.measured_stiffness_N_m.values())
    error = 100 * (np.mean(measured) / contact.stiffness - 1) if measured else float("nan")
    touch, hold = (f"{min(t):.4f}" if t else "–" for t in times.values())
    scene = result.scene
    if result.status is sg.GraspStatus.DIVERGED:
        position = f"| {scene.integrator} | {result.contact_model.timestep_s:g} | {touch} | {hold} "
        return f"{position}| – | – | – | {result.status.name} | – |"
    return (
        f"| {scene.integrator} | {result.contact_model.timestep_s:g} | {touch} | {hold} "
        f"| {result.object_position[-1, 2] * 1e3:.3f} | {result.normal_force[-1].sum():.1f} "
        f"| {error:+.2f} | {'yes' if result.held else result.status.name} | {cost:.2f} |"
    )


def table(contact: sg.Contact, density: float) -> None:
    """Run all combinations for one contact and print them."""
    print(f"\nK = {contact.stiffness:g} N/m, D = {contact.damping:g} N·s/m, {density:g} kg/m³\n")
    print(HEAD, "|---" * 9 + "|", sep="\n")
    fitting = [timestep for timestep in TIMESTEPS if timestep <= contact.largest_timestep]
    pinch("discrete", fitting[-1], contact, density)  # so that loading is not timed
    runs = {
        (integrator, timestep): timed(integrator, timestep, contact, density)
        for integrator in INTEGRATORS
        for timestep in fitting
    }
    default = runs["discrete", fitting[-1]][1]
    for result, cost in runs.values():
        print(row(result, cost / default, contact))


if __name__ == "__main__":
    table(sg.Contact(), 700.0)
    table(sg.Contact(stiffness=1e6, damping=1000.0), 700.0)
