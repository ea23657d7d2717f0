"""Atomic file output, JSON, Ctrl-C, files of runs, progress callbacks, templates of input files.

A file appears complete or not at all: it is written under a temporary name beside the target and
renamed. The output directory of a run has a marker with the identifier of the run and the files
that it wrote; in such a directory no other file is overwritten or removed. Long operations report
progress to the listener of the current context; without one, only to the log.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import re
import signal
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python

from softgrasp import assets
from softgrasp._version import __version__
from softgrasp.errors import DescriptionError, ResultError, did_you_mean

logger = logging.getLogger(__name__)
T = TypeVar("T")
RESULT_FILE = "result.json"
"""Document of a result."""
TRAJECTORY_FILE = "trajectory.npz"
"""Arrays of a result."""
MARKER = ".softgrasp.jsonl"
"""File of an output directory: the identifiers of its runs, and size and time of each file that
they wrote, in JSON Lines."""
MARKER_DEPTH = 4
"""Largest depth of a file below the output directory of its run."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors of a disk that is full or cannot be written."""
KINDS = ("hand", "object", "scene")
PLACEHOLDER = "NAME"
_GOOD_NAME = re.compile(r"[A-Za-z][\w-]*")
Listener = Callable[[str, float | None], None]
"""Called with a short text and the completed fraction, 0 to 1, or None if unknown."""
_new_runs: set[Path] = set()
"""Output directories of runs of this process that have not written a file yet."""
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to ``target`` when the block ends without exception.

    Args:
        target: File to write; missing directories are created.

    Yields:
        Path in the same directory with the same suffix, to be written by the caller.

    Raises:
        ResultError: The directory cannot be created or written, the disk is full, or what exists
            there is a directory, a device, or in the output directory of a run not from a run.
    """
    target = Path(target)
    if target.exists() and not target.is_file():  # a device would be replaced by a file
        raise ResultError(f"{target}: expected a path of a file, found a directory or device")
    run = run_directory(target)
    if run is not None and target.exists() and not was_written(target, run):
        raise ResultError(
            f"{target}: expected no file or one that a run of softgrasp wrote, found another; it "
            "is not overwritten: move it, or name another directory"
        )
    # named before it exists, so that Ctrl-C at any moment removes it
    temporary = target.with_name(f".{target.stem}.{uuid.uuid4().hex[:12]}{target.suffix}")
    try:
        _create(temporary, target)
        yield temporary
        temporary.replace(target)
        note_written(target)
        logger.info("Wrote %s, %d bytes.", target, target.stat().st_size)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        raise ResultError(disk_message(target, error)) from error
    finally:
        with suppress(OSError):  # missing where it was renamed or could not be created
            temporary.unlink()


def _create(temporary: Path, target: Path) -> None:
    """Create an empty file, and its directory; errors name the target."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(mode=0o666, exist_ok=False)  # without the bits of the umask
    except OSError as error:
        raise ResultError(
            f"{target}: expected a writable path, found: {error.strerror or error}"
        ) from error


def disk_message(target: str | Path, error: OSError) -> str:
    """Describe a file that a full or read-only disk did not take."""
    return f"{target}: expected space for the file, found: {error.strerror or error}"


def write_text(target: str | Path, text: str) -> Path:
    """Write a UTF-8 text file atomically and return its path."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(target)


def plain_data(value: Any) -> Any:
    """Convert a value to what JSON has; numbers that are not finite become None.

    Dataclasses and descriptions become dictionaries, tuples and arrays lists, numbers of numpy
    those of Python.
    """

    def of_others(part: Any) -> Any:
        return part.tolist() if hasattr(part, "tolist") else dict(part)

    return to_jsonable_python(value, inf_nan_mode="null", fallback=of_others)


def json_text(document: Any) -> str:
    """Return a document as the text of a JSON file, see ``plain_data``."""
    return json.dumps(plain_data(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def sha256_of(files: Iterable[Path]) -> str:
    """Hash the contents of files in the given order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def write_bytes(target: str | Path, content: bytes) -> Path:
    """Write a binary file atomically and return its path."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)
    return Path(target)


@contextmanager
def delayed_interrupt() -> Iterator[Callable[[], None]]:
    """Delay Ctrl-C to moments at which state and files are consistent, or to the block's end.

    A second Ctrl-C is not delayed. Nothing is changed where the program has a custom handler, and
    outside the main thread.

    Yields:
        Function to call at such moments: raises KeyboardInterrupt if Ctrl-C was pressed.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    pressed = raised = False

    def record(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    def let_through() -> None:
        nonlocal raised
        if pressed:
            raised = True
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, record)
    try:
        yield let_through
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed and not raised:
        raise KeyboardInterrupt


# Output directories of runs
def start_run(directory: Path) -> None:
    """Begin a run that writes into a directory; its first file writes the marker."""
    _new_runs.add(directory.resolve())


def run_directory(target: Path) -> Path | None:
    """Return the output directory of the run that a file belongs to; None without a run."""
    above = list(target.absolute().parents)[:MARKER_DEPTH]
    return next((d for d in above if (d / MARKER).is_file() or d.resolve() in _new_runs), None)


def note_written(target: Path, *, grows: bool = False) -> None:
    """Record a written file in the marker of its run, if there is one.

    Args:
        target: Written file.
        grows: Whether content is appended later, so that its size does not identify it.

    Raises:
        OSError: The marker cannot be written.
    """
    if (directory := run_directory(target)) is None:
        return
    status = target.stat()
    lines: list[dict[str, object]] = []
    if directory.resolve() in _new_runs:
        _new_runs.discard(directory.resolve())
        lines.append({"run": uuid.uuid4().hex, "softgrasp_version": __version__})
    known = None if grows else [status.st_size, status.st_mtime_ns]
    lines.append({"file": _name_in(directory, target), "bytes_ns": known})
    with (directory / MARKER).open("a", encoding="utf-8") as file:
        file.write("".join(f"{json.dumps(line)}\n" for line in lines))


def was_written(target: Path, directory: Path) -> bool:
    """Return whether a run wrote a file of its output directory, and nobody changed it since."""
    try:
        text = (directory / MARKER).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    written = {}
    for line in text.splitlines():
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            entry = json.loads(line)  # of a run, or cut short by a crash, where it has no file
            written[str(entry["file"])] = entry["bytes_ns"]
    name = _name_in(directory, target)
    if name not in written:
        return False
    status = target.stat()  # None is a file that grows
    return written[name] in (None, [status.st_size, status.st_mtime_ns])


def other_files(directory: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Return the files in an output directory that fit a pattern and that no run wrote."""
    paths = sorted({path for pattern in patterns for path in directory.glob(pattern)})
    visible = (path for path in paths if path.is_file() and not path.name.startswith("."))
    return [path for path in visible if not was_written(path, directory)]


def remove_written(directory: Path, patterns: tuple[str, ...]) -> bool:
    """Remove the files of earlier runs, and directories that are empty then.

    Args:
        directory: Output directory; only files that runs wrote are removed.
        patterns: Patterns of files, or of directories whose files are meant.

    Returns:
        Whether a file was removed.
    """
    paths = [path for pattern in patterns for path in sorted(directory.glob(pattern))]
    removed = False
    for path in paths:
        inside = sorted(path.rglob("*"), reverse=True) if path.is_dir() else []
        for entry in [*inside, path]:
            if entry.is_dir():
                if not any(entry.iterdir()):
                    entry.rmdir()
            elif was_written(entry, directory):
                entry.unlink()
                removed = True
    return removed


def _name_in(directory: Path, target: Path) -> str:
    return target.absolute().relative_to(directory.absolute()).as_posix()


# Progress
@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable while the block runs."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def listening(listener: Listener) -> AbstractContextManager[None]:
    """Send progress reports, a text and the completed fraction, to a listener during the block."""
    return setting(_listener, listener)


def report_progress(text: str, done: float | None = None) -> None:
    """Report progress to the listener of this context, if there is one.

    Args:
        text: Current operation, in a few words.
        done: Completed fraction, 0 to 1; None if unknown, which is logged.
    """
    if done is None:
        logger.info("%s%s.", text[:1].upper(), text[1:])
    if (listener := _listener.get()) is not None:
        listener(text, done)


def template(kind: str, name: str) -> str:
    """Return the commented template of a hand, object or scene with its name filled in.

    Raises:
        DescriptionError: There is no such kind, or the name is not a valid file name.
    """
    if kind not in KINDS:
        raise DescriptionError(f"no template of a '{kind}'; {did_you_mean(kind, KINDS)}")
    if not _GOOD_NAME.fullmatch(name):
        raise DescriptionError(
            f"expected a name of letters, digits, _ and -, beginning with a letter, found '{name}'"
        )
    text = (assets.root() / "assets" / "templates" / f"{kind}.yaml").read_text(encoding="utf-8")
    return re.sub(rf"\b{PLACEHOLDER}\b", name, text)


def write_template(kind: str, name: str, file: Path) -> Path:
    """Write a template to a new file.

    Raises:
        DescriptionError: As ``template`` raises it.
        ResultError: The file exists, or cannot be written.
    """
    text = template(kind, name)
    if file.exists():
        raise ResultError(f"{file}: expected no file, found one; it is not overwritten")
    return write_text(file, text)


def in_any_case(path: Path) -> Path | None:
    """Return the only file whose path differs from a path in capitals at most; None without one."""
    alike = _alike(path.absolute())
    return alike if alike is not None and alike.is_file() else None


def _alike(path: Path) -> Path | None:
    """Return the only file or directory whose path differs from a path in capitals at most."""
    if path.exists():
        return path
    above = _alike(path.parent)
    if above is None or not above.is_dir():
        return None
    try:
        alike = [item for item in above.iterdir() if item.name.lower() == path.name.lower()]
    except PermissionError:
        return None
    return alike[0] if len(alike) == 1 else None
