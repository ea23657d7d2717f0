"""Limits of input files: what is refused before it costs much time or memory.

Files come from other programs and other people. Each limit is far above what hands, objects,
scenes and results need, and is checked before memory is allocated: the kind and the size of a
file, the nodes of YAML with all aliases expanded, the depth of YAML, JSON and XML, the lengths,
repetitions and reserved memory of a model, and the bytes of arrays. As every reader checks its
files here, the files that were read are recorded here, too (``record_inputs``).
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import DescriptionError, ResultError, SoftgraspError
from softgrasp.io.xml_elements import Element, element_error

P = ParamSpec("P")
T = TypeVar("T")
MAX_TEXT = 64 * 10**6
"""Largest size of a text file [bytes]."""
MAX_ARRAYS = 4 * 10**9
"""Largest size of the arrays of one file [bytes]."""
MAX_NODES = 500_000
"""Largest number of values in a YAML file, with aliases expanded, and of elements in XML."""
MAX_ELEMENTS = 20_000
"""Largest number of elements in an MJCF file; MuJoCo takes 1 s for 20,000 geoms, 4 s for twice as
many."""
MAX_PARTS = 50_000
"""Largest number of lines and commas in a YAML file, of which a parser reads 10,000 a second."""
MAX_DEPTH = 100
"""Largest depth of nesting."""
MAX_BRACKETS = 1_000
"""Largest depth of brackets in text, of which some may be parts of names."""
MAX_LINKS = 1_000
"""Largest number of links of a robot."""
MAX_JOINTS = 200
"""Largest number of moving joints of a hand; the Shadow hand has 24, a soft hand of chains of links
may have 150. The search for the grasps of one with 250 takes a minute."""
MAX_LENGTH = 1e4
"""Largest length and coordinate in a model [m]."""
MAX_COORDINATE = 1e7
"""Largest coordinate in a mesh, whose unit may be mm."""
MAX_MESH = 128 * 10**6
"""Largest size of a file with a mesh [bytes]."""
MAX_COPIES = 10_000
"""Largest number of copies that one element of a model makes, with those around it."""
MAX_LINE = 4 * 10**6
"""Largest number of characters in a line of a journal."""
MAX_SAMPLES = 4_000_000
"""Largest number of heights of a height field."""
MAX_RESERVED = 100_000
"""Largest number that an attribute of ``<size>`` reserves, of keyframes, user data and the like."""
BYTES = {"memory": 1, "nstack": 8}
"""Attributes of ``<size>`` that reserve memory, each with the bytes of its unit."""
UNITS_OF_MEMORY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50, "E": 2**60}
"""Multiples of bytes that ``<size memory>`` understands, by the letter after the number."""
LENGTHS = frozenset(["pos", "xyz", "size", "fromto", "spacing", "length", "radius"])
"""Attributes of XML elements with lengths or coordinates [m]."""
COPIES = {"replicate": "count", "composite": "count", "flexcomp": "count", "grid": "count"}
"""Attributes with numbers of copies, by tag."""
_BRACKETS = re.compile(r"[\[\]{}]")
_RESERVED = re.compile(r"(\d{1,30})([KMGTPEkmgtpe]?)", re.ASCII)
_NUMBERS = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_inputs: ContextVar[list[Path] | None] = ContextVar("inputs", default=None)


@contextmanager
def record_inputs() -> Iterator[list[Path]]:
    """Yield a list to which the input files that are read in the block are added, in their order.

    A file whose content is cached is added, too. The list may name a file repeatedly.
    """
    outer, files = _inputs.get(), list[Path]()
    token = _inputs.set(files)
    try:
        yield files
    finally:
        _inputs.reset(token)
        if outer is not None:
            outer += files


def note_inputs(*files: Path) -> None:
    """Add files to the list of ``record_inputs``, if there is one."""
    if (recorded := _inputs.get()) is not None:
        recorded += files


def check_size(path: Path, limit: int = MAX_TEXT) -> None:
    """Refuse a file that is too large to be read, or has no end: a pipe, a socket or a device.

    The file is noted as an input.

    Raises:
        DescriptionError: It is larger than ``limit`` [bytes], or is no regular file.
        OSError: There is no such file.
    """
    note_inputs(path)
    status = path.stat()  # of the target of a link
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise DescriptionError(
            "expected a regular file, found a pipe, a socket or a device; save its content to a "
            "file first",
            file=path,
        )
    if (size := status.st_size) > limit:
        raise DescriptionError(
            f"expected a file of at most {limit / 1e6:g} MB, found {size / 1e6:.4g} MB", file=path
        )


# YAML and JSON
def check_tree(tree: Any) -> None:
    """Refuse a tree that is too large with copies of parts that aliases share with their anchors.

    Raises:
        DescriptionError: It has too many values, is nested too deeply, or contains itself.
    """
    _count(tree, {}, 0)


def _count(node: Any, counts: dict[int, int | None], depth: int) -> int:
    """Return the number of values in a node; None in ``counts`` is a node that is being counted."""
    if not isinstance(node, dict | list):
        return 1
    if depth > MAX_DEPTH:
        raise DescriptionError(f"expected at most {MAX_DEPTH} levels of nesting, found more")
    if id(node) in counts:
        if (known := counts[id(node)]) is None:
            raise DescriptionError("expected no alias of the part that contains it, found one")
        return known
    counts[id(node)] = None
    parts = node.values() if isinstance(node, dict) else node
    total = 1 + sum(_count(part, counts, depth + 1) for part in parts)
    if total > MAX_NODES:
        raise DescriptionError(f"expected at most {MAX_NODES} values, found more")
    counts[id(node)] = total
    return total


def check_text(text: str) -> None:
    """Refuse YAML text with many values or levels of brackets, on which its parser takes long.

    Raises:
        DescriptionError: It has more than ``MAX_PARTS`` lines and commas, or more than
            ``MAX_BRACKETS`` levels.
    """
    if (parts := text.count("\n") + text.count(",")) > MAX_PARTS:
        raise DescriptionError(f"expected at most {MAX_PARTS} lines and commas, found {parts}")
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_BRACKETS:
            raise DescriptionError(f"expected at most {MAX_DEPTH} levels of nesting, found more")


def json_from(text: str | bytes, **options: Any) -> Any:
    """Parse JSON text.

    Raises:
        ValueError: It is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("nesting that is too deep") from None


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not JSON, too large, or nested too deeply.
    """
    try:
        check_size(path)
    except DescriptionError as error:
        raise ValueError(error.message) from None
    return json_from(path.read_text(encoding="utf-8"))


# XML
def check_elements(root: Element) -> None:
    """Refuse an XML document that is too large, or whose model would be.

    Raises:
        DescriptionError: There are too many elements, links, copies or heights, or a length or
            what is reserved is too large; names line and element.
    """
    links = count = 0
    limit = MAX_ELEMENTS if str(root.tag).startswith("mujoco") else MAX_NODES
    for element in root.iter("*"):
        _check_copies(element)
        count += 1
        if element.tag == "replicate":
            count += int(_copies(element) * sum(1 for _ in element.iter()))
        if count > limit:
            _refuse(element, f"at most {limit} elements", "more")
        links += element.tag == "link"
        if links > MAX_LINKS:
            _refuse(element, f"at most {MAX_LINKS} links", "more")
        for name in LENGTHS & set(element.attrib):
            _check_lengths(element, str(name))
        if element.tag == "size":
            _check_reserved(element)


def _check_reserved(element: Element) -> None:
    for name, text in element.attrib.items():
        match = _RESERVED.fullmatch(str(text).strip())
        if match is None:  # refused by MuJoCo
            continue
        amount = int(match[1]) * UNITS_OF_MEMORY[match[2].upper()]
        if name in BYTES and amount * BYTES[name] > MAX_ARRAYS:
            _refuse(element, f"at most {MAX_ARRAYS / 1e9:g} GB", str(text), str(name))
        if name not in BYTES and amount > MAX_RESERVED:
            _refuse(element, f"at most {MAX_RESERVED}", str(text), str(name))


def _check_lengths(element: Element, name: str) -> None:
    for text in _NUMBERS.findall(str(element.get(name))):
        if MAX_LENGTH < abs(float(text)) < math.inf:  # others are refused with their field
            _refuse(element, f"lengths of at most {MAX_LENGTH:g} m", text, name)


def _check_copies(element: Element) -> None:
    name = COPIES.get(str(element.tag))
    if name is not None and (copies := _copies(element)) > MAX_COPIES:
        _refuse(element, f"at most {MAX_COPIES} copies", f"{copies:g}", name)
    if element.tag == "hfield":
        heights = _product(element, "nrow") * _product(element, "ncol")
        if heights > MAX_SAMPLES:
            _refuse(element, f"at most {MAX_SAMPLES} heights", f"{heights:g}")


def _copies(element: Element) -> float:
    """Return the number of copies that an element makes, with those around it."""
    around = (element, *element.iterancestors())
    copying = (item for item in around if str(item.tag) in COPIES)
    return math.prod(_product(item, COPIES[str(item.tag)]) for item in copying)


def _product(element: Element, name: str) -> float:
    return math.prod(float(text) for text in _NUMBERS.findall(str(element.get(name) or "")))


def _refuse(element: Element, expected: str, actual: str, name: str = "") -> NoReturn:
    raise element_error(element, f"expected {expected}, found {actual}", name)


# Arrays
def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an ``.npz`` file, after a check of the sizes that it states.

    Raises:
        OSError: It cannot be read.
        ValueError, EOFError, zipfile.BadZipFile: It is damaged, holds objects, or is too large.
    """
    try:
        check_size(path, MAX_ARRAYS)
    except DescriptionError as error:
        raise ValueError(error.message) from None
    # opened here, as numpy leaves an unreadable file open
    with path.open("rb") as stream:
        _check_arrays(stream)
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def _check_arrays(stream: Any) -> None:
    """Refuse arrays whose shapes are too large, or larger than what is stored."""
    total = 0
    with zipfile.ZipFile(stream) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                read = getattr(np.lib.format, f"read_array_header_{version[0]}_{version[1]}", None)
                if read is None:
                    raise ValueError(f"array '{entry.filename}' of an unknown version")
                shape, _, kind = read(file)
            size = math.prod(shape) * kind.itemsize
            if size > entry.file_size:
                raise ValueError(
                    f"array '{entry.filename}' of shape {shape}, larger than its {entry.file_size} "
                    "bytes"
                )
            total += size
    if total > MAX_ARRAYS:
        raise ValueError(f"arrays of {total / 1e9:.3g} GB, more than {MAX_ARRAYS / 1e9:g} GB")


# Errors that nobody expected
def loader(read: Callable[P, T]) -> Callable[P, T]:
    """Make a reader of descriptions report any other exception as an error that names the file.

    The first argument of the reader is a name or a path.
    """
    return _reporting(read, lambda file, message: DescriptionError(message, file=file))


def result_loader(read: Callable[P, T]) -> Callable[P, T]:
    """Make a reader of results report any other exception as ``loader`` does."""
    return _reporting(read, lambda file, message: ResultError(f"{file}: {message}"))


def _reporting(
    read: Callable[P, T], error_of: Callable[[str, str], SoftgraspError]
) -> Callable[P, T]:
    signature = inspect.signature(read)

    @functools.wraps(read)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        first = next(iter(bound.arguments.values()))
        file = str(first)
        if not isinstance(first, str | os.PathLike):
            raise error_of(file, f"expected a name or the path of a file, found {first!r:.60}")
        try:
            return read(*args, **options)
        except SoftgraspError:
            raise
        except MemoryError:
            raise error_of(
                file, "expected a file for which memory suffices, found one that needs more"
            ) from None
        except Exception as error:
            message = " ".join(str(error).split())[:200]
            raise error_of(
                file,
                f"expected content that can be read, found: {type(error).__name__}: {message}; if "
                "the file is valid this is a bug of softgrasp: please report it with the file",
            ) from error

    return checked
