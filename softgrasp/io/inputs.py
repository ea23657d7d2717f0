"""Files that a description names, and hashes by which work that is resumed knows them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

from softgrasp import assets
from softgrasp.description.base import Description
from softgrasp.description.geometry import Mesh
from softgrasp.description.hand import HandModel
from softgrasp.errors import DescriptionError
from softgrasp.io.mesh import resolved_file
from softgrasp.io.mjcf.model import model_files, resolved


def described_files(value: object) -> Iterator[Path]:
    """Yield the files that a description names at any depth, such as meshes of its objects.

    Of an MJCF model these are also the files that it includes, its meshes and its textures; a
    missing file is yielded, too.
    """
    if isinstance(value, Mesh):
        yield from (resolved_file(name) for name in (value.file, value.parts) if name is not None)
    elif isinstance(value, HandModel):
        yield (path := resolved(value.file))
        with suppress(DescriptionError):  # reported where the model is built
            yield from model_files(path)
    elif isinstance(value, Description):
        for name in type(value).model_fields:
            yield from described_files(getattr(value, name))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from described_files(part)


def input_hashes(files: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by their portable names; "" of a file that is missing."""
    return {assets.portable_name(file): _sha256(file) for file in dict.fromkeys(files)}


def current_hashes(names: Iterable[str]) -> dict[str, str]:
    """Return the present SHA-256 of files by the names of ``input_hashes``."""
    return {name: _sha256(resolved_file(name)) for name in names}


def changed_input(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return the first file whose hash differs; None where all are equal.

    Files are compared by their order, so that a moved directory is equal to the one before.
    """
    pairs = zip_longest(before.items(), now.items(), fillvalue=("", None))
    differing = ((new or old) for (old, digest), (new, other) in pairs if digest != other)
    return next(differing, None)


def _sha256(file: Path) -> str:
    if not file.is_file():
        return ""
    status = file.stat()
    return _digest(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1024)
def _digest(file: Path, _mtime_ns: int, _size: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
