"""Exceptions and warnings of softgrasp.

    SoftgraspError
    ├── DescriptionError        a hand, object or scene description is wrong (file, line, field)
    ├── BuildError              no model that can be simulated follows from valid descriptions
    ├── BackendUnavailable      a requested engine or optional library is not installed
    ├── SimulationError         a run cannot continue
    │   └── DivergedError       its motion has diverged
    ├── DeviceError             communication with a device has failed
    │   ├── ConnectionLostError it cannot be reached, or did not answer in time
    │   ├── RequestRefusedError it refused a request
    │   ├── BadAnswerError      its answer is invalid
    │   ├── SafeStopError       it could not be brought into a safe state
    │   └── StaleDataError      its last valid answer is too old
    └── ResultError             a result on disk cannot be read or written

    SoftgraspWarning (UserWarning)   a repair, an assumption or a suspicious value

Messages have the form ``location: expected X, found Y; existing names; did you mean``. How a grasp
ends is not an error: see ``GraspStatus``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    "SafeStopError",
    "SimulationError",
    "SoftgraspError",
    "SoftgraspWarning",
    "StaleDataError",
]


MAX_MESSAGE = 1500
"""Length above which the middle of a message is left out; messages quote what files hold."""


class SoftgraspError(Exception):
    """Base of all errors that softgrasp raises deliberately."""

    def __str__(self) -> str:
        """Return the message; control characters are escaped, and a long middle is left out."""
        text = super().__str__()
        if len(text) > MAX_MESSAGE:
            text = f"{text[: MAX_MESSAGE // 2]} … {text[-MAX_MESSAGE // 2 :]}"
        return "".join(x if x.isprintable() or x == "\n" else ascii(x)[1:-1] for x in text)


class DescriptionError(SoftgraspError):
    """Invalid description, with file, line and field where they are known.

    Args:
        message: What was expected and what was found.
        file: File of the description, if it has one.
        line: Line in that file, counted from 1.
        field: Path of the field, such as ``fingers[0].phalanges[1].radius``.
        location: The same path in parts, such as ``("fingers", 0, "phalanges", 1, "radius")``.
        value: The value that the message calls found, where it is one value.
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
        location = "" if self.file is None else str(self.file)
        if self.line is not None:
            location += f":{self.line}"
        return ": ".join(part for part in (location, self.field, self.message) if part)

    def located(
        self, *, file: str | Path | None = None, line: int | None = None, written: object = None
    ) -> DescriptionError:
        """Return the error with a file and line, where it has none.

        Args:
            file: The file.
            line: The line.
            written: Value in the file; a number that was converted to SI units appears in the
                message as in the file.
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
    """A valid scene that cannot be compiled to a model for simulation."""


class BackendUnavailable(SoftgraspError):
    """A requested engine or optional library is not installed."""


EXTRAS = {
    "coacd": "mesh",
    "collada": "mesh",
    "cv2": "calibrate",
    "distributed": "cluster",
    "dm_control": "dm",
    "dm_env": "dm",
    "fast_simplification": "mesh",
    "gymnasium": "gym",
    "h5py": "minari",
    "imageio_ffmpeg": "video",
    "minari": "minari",
    "mujoco_warp": "gpu",
    "pandas": "sweep",
    "pillow_heif": "heic",
    "pxr": "usd",
    "pyarrow": "sweep",
    "pymodbus": "twin",
    "rerun": "rerun",
    "stable_baselines3": "learn",
    "tornado": "twin",
    "viser": "view",
    "warp": "gpu",
    "xacro": "xacro",
    "xarray": "xarray",
}
"""The extra that installs each optional module."""


def missing_library(error: ModuleNotFoundError) -> BackendUnavailable:
    """Convert the failed import of an optional module to an error that says what installs it.

    Raises:
        ModuleNotFoundError: ``error``, where the module is not an optional one.
    """
    module = str(error.name).partition(".")[0]
    if module not in EXTRAS:
        raise error
    return BackendUnavailable(
        f"expected the package {module}, found none; pip install 'softgrasp[{EXTRAS[module]}]'"
    )


class SimulationError(SoftgraspError):
    """A simulation that cannot continue."""


class DivergedError(SimulationError):
    """A motion that diverged where there is no result to report it."""


class DeviceError(SoftgraspError):
    """Communication with a device has failed."""


class ConnectionLostError(DeviceError):
    """A device cannot be reached, or did not answer in time."""


class RequestRefusedError(DeviceError):
    """A device has refused a request."""


class BadAnswerError(DeviceError):
    """The answer of a device is invalid."""


class SafeStopError(DeviceError):
    """A device could not be brought into a safe state; it may be under pressure."""


class StaleDataError(DeviceError):
    """The last valid answer of a device is too old."""


class ResultError(SoftgraspError):
    """A result on disk cannot be read or written."""


class SoftgraspWarning(UserWarning):
    """A repair, an assumption or a suspicious value; the run continues."""


def reason(error: Exception) -> str:
    """Return briefly why a file cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return str(getattr(error, "strerror", None) or error)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the nearest known word, and list the known words.

    Args:
        word: The unknown word.
        known: The known words.

    Returns:
        ``"did you mean 'radius'? known: a, b, radius"`` or ``"known: a, b, c"``.
    """
    names = sorted(known)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'? known: {', '.join(names)}"
    return f"known: {', '.join(names)}"


def either(words: Sequence[str]) -> str:
    """Join words as ``a, b or c``."""
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
