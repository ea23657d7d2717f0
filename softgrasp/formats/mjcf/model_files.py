"""The files that a model in MJCF consists of: itself, what it includes, its meshes and textures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from softgrasp import library
from softgrasp.errors import DescriptionError
from softgrasp.formats.ucrdf.elements import Element, line_of

DIRECTORY_ATTRIBUTE = {
    "mesh": "meshdir",
    "skin": "meshdir",
    "hfield": "meshdir",
    "texture": "texturedir",
}
"""The attribute of ``<compiler>`` that says where files of an element lie."""
SIDES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
ROOT = "mujoco"


class _Asset(NamedTuple):
    named_in: Path
    line: int | None
    kind: str
    file: str


def resolved(name: str) -> Path:
    """The path of a model's file by its portable name."""
    return library.shipped_file(name) or Path(name).expanduser().absolute()


def model_files(path: Path) -> list[Path]:
    """All files that a model consists of, itself first.

    Raises:
        DescriptionError: One is missing or is no XML; names the file and the line that asks for it.
    """
    documents: dict[Path, Element] = {}
    _read_document(path, path.parent, documents)
    directories: dict[str, str] = {}
    for root in documents.values():
        for compiler in root.iter("compiler"):
            for key in ("meshdir", "texturedir", "assetdir", "strippath"):
                if key in compiler.attrib:
                    directories[key] = str(compiler.get(key))
    files = list(documents)
    for document, root in documents.items():
        files += [_asset_file(part, path.parent, directories) for part in _assets(document, root)]
    return list(dict.fromkeys(files))


def sha256_of(files: list[Path]) -> str:
    """Hash of all files in their order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _read_document(path: Path, directory: Path, documents: dict[Path, Element]) -> None:
    """Read a document and, after it, those that it includes."""
    if path in documents:
        return
    documents[path] = root = _parsed(path)
    if root.tag not in (ROOT, "mujocoinclude"):
        raise DescriptionError(
            f"expected a MuJoCo model with the root element <{ROOT}>, found <{root.tag}>",
            file=path,
            line=line_of(root),
        )
    for include in root.iter("include"):
        included = directory / str(include.get("file", ""))
        if not included.is_file():
            raise DescriptionError(
                f"expected the file to include, found none at {included}",
                file=path,
                line=line_of(include),
                field="include.file",
            )
        _read_document(included, directory, documents)


def _parsed(path: Path) -> Element:
    if not path.is_file():
        received = "a folder" if path.is_dir() else "no such file"
        raise DescriptionError(f"expected a MuJoCo model (.xml), found {received}", file=path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror or error}", file=path) from error
    # what a file names outside itself is never fetched
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        reason = str(error.msg).split(", line ")[0] if error.msg else "an empty file"
        raise DescriptionError(
            f"expected XML, found a mistake: {reason}", file=path, line=error.lineno or None
        ) from error


def _assets(document: Path, root: Element) -> Iterator[_Asset]:
    for element in root.iter(*DIRECTORY_ATTRIBUTE, "model"):
        for key in ("file", *SIDES):
            if key in element.attrib:
                yield _Asset(document, line_of(element), str(element.tag), str(element.get(key)))


def _asset_file(asset: _Asset, directory: Path, directories: dict[str, str]) -> Path:
    directory_name = directories.get(
        DIRECTORY_ATTRIBUTE.get(asset.kind, ""), directories.get("assetdir", "")
    )
    directory_name = "" if asset.kind == "model" else directory_name
    name = Path(asset.file).name if directories.get("strippath") == "true" else asset.file
    file = directory / directory_name / name
    if not file.is_file():
        raise DescriptionError(
            f"expected the file of a {asset.kind}, found none at {file}",
            file=asset.named_in,
            line=asset.line,
            field=f"{asset.kind}.file",
        )
    return file
