"""What stands in the table of engines: versions, time steps, and each engine's own contact."""

from __future__ import annotations

from softgrasp.crosschecks.engines import EMULATES, EngineProperties
from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.crosschecks.release_runs import ReleaseRuns
from softgrasp.extensions import ENGINES
from softgrasp.simulation.external_engine import external_engine
from softgrasp.simulation.told_contacts import ContactModel


def release_engines(runs: ReleaseRuns) -> dict[str, EngineProperties]:
    """Engines of a release."""
    engines = {}
    for name, motions in runs.moving.items():
        engine = runs.motion(name).engine
        implicit = "c, with h·k from the implicit spring" if name in ENGINES else "c + h·k"
        spring = "at the end of the step" if name in ENGINES else "at the beginning of the step"
        if runs.release.webots_timestep is None:
            implicit = "c − h·k, with h·k from the implicit spring" if name in ENGINES else "c"
        engines[name] = EngineProperties(
            name=name,
            version=engine.version,
            parameters={
                "time step": f"{1e3 * engine.timestep:g} ms",
                "other steps": _steps([step for step in motions if step != engine.timestep]),
                "integrator": engine.integrator,
                "springs": spring,
                "dampers": implicit,
                **_emulated(name),
            },
        )
    return engines


def grasp_engines(runs: GraspRuns) -> dict[str, EngineProperties]:
    """Engines of a grasp."""
    engines = {}
    for name, result in runs.closing.items():
        model = result.contact_model
        others = [step for step in runs.finer[name] if step != model.timestep_s]
        engines[name] = EngineProperties(
            name=name,
            version=result.backend["version"],
            parameters={
                "time step": f"{1e3 * model.timestep_s:g} ms",
                "other steps": _steps(others),
                "integrator": model.integrator,
                **_contact(name, model),
                "measured F/pen": _measured(model),
                **_emulated(name),
                "wall time of a run": f"{result.wall_time:.2g} s",
            },
        )
    return engines


def _contact(name: str, model: ContactModel) -> dict[str, str]:
    contact, step = model.used, model.timestep_s
    parameters = {
        "K": f"{contact.stiffness:.4g} N/m",
        "D": f"{contact.damping:.4g} N·s/m",
        "µ": f"{contact.static_friction:g}",
    }
    if name in ENGINES:
        strength = step * contact.stiffness + contact.damping
        parameters["ERP = h·K/(h·K + D)"] = f"{step * contact.stiffness / strength:.4g}"
        parameters["CFM = 1/(h·K + D)"] = f"{1.0 / strength:.4g}"
        parameters["CFM of the world"] = f"{external_engine(name).constraint_softness:g}"
    return parameters


def _measured(model: ContactModel) -> str:
    values = model.measured_stiffness_N_m.values()
    if not values:
        return "–"
    low, high = min(values), max(values)
    return f"{low:.4g} N/m" if high - low < 1e-3 * high else f"{low:.4g} … {high:.4g} N/m"


def _emulated(name: str) -> dict[str, str]:
    return {"runs": EMULATES[name]} if name in EMULATES else {}


def _steps(steps: list[float]) -> str:
    return ", ".join(f"{1e3 * step:g} ms" for step in steps) or "–"
