"""A finished run in a few lines, all computed from its numbers."""

from __future__ import annotations

from softgrasp.build.objects import object_mass
from softgrasp.report import words
from softgrasp.report.hold_words import hold_clause
from softgrasp.report.sensor_words import sensor_clause
from softgrasp.simulation.result import GraspResult


def summary_lines(result: GraspResult) -> list[str]:
    """Grasp, contacts, forces, object and hold test, what is beside and around, cost of a run."""
    scene, model = result.scene, result.contact_model
    grams = 1e3 * object_mass(scene.object)
    stiffness = model.measured_stiffness_N_m.values()
    measured = f", measured {min(stiffness):.4g} … {max(stiffness):.4g}" if stiffness else ""
    who = f"{scene.hand.name} closes on {scene.object.name} ({scene.grasp} grasp, {grams:.3g} g)"
    run = f"{result.simulated_time:.3f} s simulated in {result.wall_time:.2f} s"
    contact = f"contact stiffness asked {model.asked.stiffness:.4g} N/m{measured}"
    if not model.asked.converted or scene.object.elasticity is not None:
        contact = "contact stiffness not asked for" + (f"{measured} N/m" if measured else "")
    felt = [f"sensors   {sensor_clause(result)}"] if result.sensors else []
    others = words.others_clause(result)
    support = words.support_clause(result)
    further = [f"beside    {others.removeprefix('Beside it, ')}"] if others else []
    further += [f"support   {support.removeprefix('At the end ')} at the end"] if support else []
    return [
        f"grasp     {who}: {result.message}",
        f"contacts  {words.contact_clause(result)}",
        f"forces    {words.force_clause(result)}",
        f"object    {words.motion_clause(result)}. {hold_clause(result)}",
        *further,
        *felt,
        f"cost      {run}; time step {1e3 * model.timestep_s:g} ms; {contact}",
    ]
