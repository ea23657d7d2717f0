"""Hardware classes by the names that a U(C)RDF gives in ``<plugin>``, and their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from softgrasp.description.control_system import ControlSystem
from softgrasp.errors import DescriptionError, did_you_mean

Kind = Literal["by actuation", "tendons", "chambers", "moments", "ideal"]
PLUGINS: dict[str, Kind] = {
    "SoftRobotInterface": "by actuation",
    "TendonHardware": "tendons",
    "ChamberHardware": "chambers",
    "MomentHardware": "moments",
    "IdealHardware": "ideal",
}
"""The first one is the paper's name; it takes what the file's ``<actuation>`` says."""


@dataclass(frozen=True)
class HardwareOptions:
    """What ``<param>`` elements say.

    Args:
        pretension: Least tension of a tendon [N]; chosen from the segment where not given.
        integral_gain: How fast the error of a curvature is corrected [1/s]; 0 trusts the stiffness
            of the description, and where it is not given it follows from the model.
        clamp: Whether pressures and tensions beyond their range are cut instead of refused.
        model: Curvature model; it has to be that of the segments.
    """

    pretension: float | None = None
    integral_gain: float | None = None
    clamp: bool = False
    model: str | None = None


def kind_of(system: ControlSystem) -> Kind:
    """Which hardware a system asks for.

    Raises:
        DescriptionError: There is no such plugin.
    """
    if system.plugin not in PLUGINS:
        raise DescriptionError(
            f"no hardware plugin '{system.plugin}'; {did_you_mean(system.plugin, PLUGINS)}",
            field=f"ros2_control '{system.name}'",
        )
    return PLUGINS[system.plugin]


def check_system(system: ControlSystem) -> None:
    """Refuse a system that softgrasp cannot drive.

    Raises:
        DescriptionError: Its plugin or one of its parameters is unknown or wrong.
    """
    kind_of(system)
    options_of(system)


def options_of(system: ControlSystem) -> HardwareOptions:
    """The parameters of a system.

    Raises:
        DescriptionError: One is not known, or is no number where one is needed.
    """
    known: Mapping[str, type] = {
        "pretension": float, "integral_gain": float, "clamp": bool, "model": str
    }  # fmt: skip
    options: dict[str, object] = {}
    for name, text in system.params:
        where = f"ros2_control '{system.name}': param '{name}'"
        if name not in known:
            raise DescriptionError(f"no such parameter; {did_you_mean(name, known)}", field=where)
        options[name] = _value(text, known[name], where)
    return HardwareOptions(**options)  # type: ignore[arg-type]


def _value(text: str, kind: type, where: str) -> object:
    if kind is str:
        return text
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise DescriptionError(f"expected true or false, found '{text}'", field=where)
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        raise DescriptionError(f"expected a number, found '{text}'", field=where) from None
    if not 0.0 <= number < float("inf"):
        raise DescriptionError(f"expected a number of at least 0, found {text}", field=where)
    return number
