"""The motion of a hydraulic arm in time: drives first, then the lumped model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError, DivergedError, did_you_mean
from softgrasp.mechanics.hydraulic.drive_model import DriveModel, drive_model
from softgrasp.mechanics.hydraulic.drive_stepper import DriveStepper
from softgrasp.mechanics.hydraulic.lumped_model import (
    checked_pressures,
    checked_states,
    lumped_model,
)
from softgrasp.mechanics.hydraulic.recording import TipRecording
from softgrasp.mechanics.transforms import Array

Inputs = Callable[[float], ArrayLike]
"""One number a chamber at a time [s]."""
Method = Literal["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]
"""Of ``scipy.integrate.solve_ivp``."""
SAMPLE = 0.01
"""Time between two rows of a recording [s], as the paper's."""


@dataclass(frozen=True)
class PressureRecording:
    """Pressures in time.

    Args:
        times: [s], (t,).
        chambers: Pressures in the chambers [Pa], (t, k).
        cylinders: Pressures in the cylinders [Pa], (t, k).
        largest_reynolds: Largest Reynolds number of the flow in a tube.
    """

    times: Array
    chambers: Array
    cylinders: Array
    largest_reynolds: float = 0.0

    def __call__(self, time: float) -> Array:
        """Of the chambers at a time, on straight lines between the recorded ones [Pa], (k,).

        Before the first and after the last they stay.
        """
        last = len(self.times) - 2
        index = min(max(int(np.searchsorted(self.times, time)) - 1, 0), last)
        begin, end = self.times[index], self.times[index + 1]
        fraction = min(max((time - begin) / (end - begin), 0.0), 1.0)
        return np.asarray(
            (1.0 - fraction) * self.chambers[index] + fraction * self.chambers[index + 1]
        )


@dataclass(frozen=True)
class ArmRecording(TipRecording):
    """The lumped model in time.

    Args:
        times: [s], (t,).
        ends: Ends of the sections in the frame of the base [m], (t, sections, 3).
        strains: (u, v, l, τ) of the segments, (t, n, 4).
        rates: Of the strains, (t, n, 4).
    """

    strains: Array
    rates: Array


def drive_pressures(
    arm: HydraulicArm, torques: Inputs, duration: float, *, timestep: float = 1e-3
) -> PressureRecording:
    """Pressures that the drives of an arm make.

    The arm answers with the compliance of its chambers at rest; its motion does not act back.

    Args:
        arm: The arm.
        torques: Of the motors, one a chamber [N·m]; taken in the middle of each step.
        duration: [s]
        timestep: [s]

    Raises:
        DescriptionError: A time is not positive, or a torque more than a motor has.

    Warns:
        SoftgraspWarning: The flow in the tubes is beyond the law that it follows.
    """
    refuse_no_time(duration, "duration")
    return pressures_under(drive_model(arm), torques, duration, timestep)


def pressures_under(
    model: DriveModel,
    torques: Inputs,
    duration: float,
    timestep: float,
    start: ArrayLike = 0.0,
) -> PressureRecording:
    """As ``drive_pressures``, from pistons that stand still.

    Args:
        model: The equations.
        torques: As there.
        duration: [s]
        timestep: [s]
        start: Pressures in chambers and cylinders at the beginning [Pa], (k,) or one for all.
    """
    stepper = DriveStepper(model, timestep)
    stepper.states[:, 1:] = np.broadcast_to(start, model.channels)[:, None]
    states = [stepper.states]
    for index in range(round(duration / timestep)):
        stepper.step(torques((index + 0.5) * timestep))
        states.append(stepper.states)
    states_array = np.stack(states)
    times = np.arange(len(states), dtype=np.float64) * timestep
    return PressureRecording(
        times, states_array[:, :, 1], states_array[:, :, 2], stepper.largest_reynolds
    )


def move_arm(
    arm: HydraulicArm,
    pressures: Inputs | ArrayLike,
    duration: float,
    *,
    strains: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    sample: float = SAMPLE,
    method: Method = "LSODA",
    tolerance: float = 1e-7,
) -> ArmRecording:
    """The motion of the lumped model.

    Args:
        arm: The arm.
        pressures: Of all chambers [Pa]: (k,), or a function of time such as a PressureRecording.
        duration: [s]
        strains: To start from, (n, 4); straight where not given.
        rates: To start with, (n, 4); at rest where not given.
        sample: Time between two rows of the recording [s].
        method: Of the integration; LSODA, Radau and BDF bear stiff arms; explicit
                methods (RK23, RK45, DOP853) need a very long time for them.
        tolerance: Relative and absolute.

    Raises:
        DescriptionError: A time is not positive, a pressure beyond the limits of its chamber,
            strains or rates do not fit, or there is no such method.
        DivergedError: The integration came to no end.
    """
    refuse_no_time(duration, "duration")
    refuse_no_time(sample, "sample")
    if method not in get_args(Method):
        message = f"no method '{method}'; {did_you_mean(method, get_args(Method))}"
        raise DescriptionError(message, field="method")
    model = lumped_model(arm)
    times = np.linspace(0.0, duration, max(round(duration / sample), 1) + 1)
    input_at = inputs_of(pressures)
    for time in times:
        checked_pressures(arm, input_at(float(time)))
    begin = [
        model.straight if strains is None else checked_states(model, strains, "strains"),
        np.zeros((model.segments, 4)) if rates is None else checked_states(model, rates, "rates"),
    ]

    def slope(time: float, flat: Array) -> Array:
        at, moving = flat.reshape(2, -1, 4)
        accelerations = model.accelerations(at, moving, checked_pressures(arm, input_at(time)))
        return np.concatenate([moving.ravel(), accelerations.ravel()])

    start = np.concatenate([part.ravel() for part in begin])
    done = solve_ivp(
        slope,
        (0.0, duration),
        start,
        method=method,
        t_eval=times,
        rtol=tolerance,
        atol=tolerance,
    )
    if not done.success:
        raise DivergedError(f"{arm.name}: expected a motion of {duration:g} s: {done.message}")
    states = done.y.T.reshape(len(times), 2, -1, 4)
    ends = np.stack([model.section_ends(at) for at in states[:, 0]])
    return ArmRecording(times=times, ends=ends, strains=states[:, 0], rates=states[:, 1])


def inputs_of(pressures: Inputs | ArrayLike) -> Inputs:
    """A function of time, of one or of numbers that stay."""
    if callable(pressures):
        return pressures
    fixed = np.asarray(pressures, dtype=float)
    return lambda _: fixed


def refuse_no_time(value: float, field: str) -> None:
    """Refuse a time that is not positive.

    Raises:
        DescriptionError: Names the field.
    """
    if not 0.0 < value < np.inf:
        raise DescriptionError(f"expected a time above 0 s, found {value:g} s", field=field)
