"""The exceptions of softgrasp, drawn as a tree.

    SoftgraspError
    ├── DescriptionError        a hand, object or scene description is wrong (file, line, field)
    ├── BuildError              valid descriptions do not make a model that can be simulated
    ├── BackendUnavailable      an engine or optional library that was asked for is missing
    ├── SimulationError         a run cannot go on
    │   └── DivergedError       its motion has diverged
    ├── DeviceError             a device on a wire is silent, refuses, or answers nonsense
    │   ├── ConnectionLostError it cannot be reached, or did not answer in time
    │   ├── RequestRefusedError it answered that it will not do what it was asked
    │   ├── BadAnswerError      it answered what it cannot mean
    │   └── StaleDataError      its last good answer is too old
    └── ResultError             a result on disk cannot be read or written

    SoftgraspWarning (UserWarning)   something was repaired or assumed, and the user should know

Messages read: where: expected X, found Y; what exists; did you mean.
How a grasp ended is not an error: see ``GraspStatus``.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

__all__ = [
    "BackendUnavailable",
    "BadAnswerError",
    "BuildError",
    "ConnectionLostError",
    "DescriptionError",
    "DeviceError",
    "DivergedError",
    "RequestRefusedError",
    "ResultError",
    "SimulationError",
    "SoftgraspError",
    "SoftgraspWarning",
    "StaleDataError",
]


class SoftgraspError(Exception):
    """Base of every error that softgrasp raises on purpose."""


class DescriptionError(SoftgraspError):
    """A description is wrong; knows the file, the line and the field where it can.

    Args:
        message: What was expected and what was found.
        file: The file that holds the description, if it came from one.
        line: Line in that file, counted from 1.
        field: Path of the field, such as ``fingers[0].phalanges[1].radius``.
        location: The same path in parts, such as ``("fingers", 0, "phalanges", 1, "radius")``.
        found: The value that the message says was found, where it is one value.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
        location: tuple[int | str, ...] = (),
        value: object = None,
    ) -> None:
        self.message = message
        self.actual = value
        self.location = location
        self.file = Path(file) if file is not None else None
        self.line = line
        self.field = field
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = "" if self.file is None else str(self.file)
        if self.line is not None:
            where += f":{self.line}"
        return ": ".join(part for part in (where, self.field, self.message) if part)

    def located(
        self, *, file: str | Path | None = None, line: int | None = None, written: object = None
    ) -> DescriptionError:
        """The same error with a file and line, where it did not have them yet.

        Args:
            file: The file.
            line: The line.
            written: What stands in the file; a number that was converted to SI since is told
                as it was written.
        """
        message, numbers = self.message, (self.actual, written)
        if all(type(number) in (int, float) for number in numbers) and written != self.actual:
            message = message.replace(f"found {self.actual!r}", f"found {written!r}")
        return DescriptionError(
            message,
            file=self.file or file,
            line=self.line or line,
            field=self.field,
            location=self.location,
            value=self.actual,
        )


class BuildError(SoftgraspError):
    """The scene is valid on paper but no model that can be simulated comes out of it."""


class BackendUnavailable(SoftgraspError):
    """An engine or an optional library that was asked for is not installed."""


class SimulationError(SoftgraspError):
    """A run cannot go on."""


class DivergedError(SimulationError):
    """A motion has diverged, where there is no result that could say so."""


class DeviceError(SoftgraspError):
    """A device on a wire is silent, refuses, or answers nonsense."""


class ConnectionLostError(DeviceError):
    """A device cannot be reached, or did not answer in time."""


class RequestRefusedError(DeviceError):
    """A device answered that it will not do what it was asked."""


class BadAnswerError(DeviceError):
    """A device answered what it cannot mean."""


class StaleDataError(DeviceError):
    """The last good answer of a device is too old."""


class ResultError(SoftgraspError):
    """A result on disk cannot be read, or cannot be written."""


class SoftgraspWarning(UserWarning):
    """Something was repaired, assumed or looks wrong, and the run goes on."""


def reason(error: Exception) -> str:
    """Why a file cannot be read, in few words."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return str(getattr(error, "strerror", None) or error)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest known word, or what exists when none is near.

    Args:
        word: What the user wrote.
        known: The words that exist.

    Returns:
        ``"did you mean 'radius'?"`` or ``"known: a, b, c"``.
    """
    names = sorted(known)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'? known: {', '.join(names)}"
    return f"known: {', '.join(names)}"
