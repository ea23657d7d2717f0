"""XML documents of robots: parsing, xacro, mesh file names, error locations, origins.

Nothing is fetched, document types are refused, and elements keep their lines through the expansion
of xacro macros.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree

from softgrasp import assets
from softgrasp.assets import MESH_SUFFIXES
from softgrasp.description.base import short
from softgrasp.errors import BackendUnavailable, DescriptionError, reason
from softgrasp.io.files import in_any_case
from softgrasp.io.input_limits import check_elements, check_size
from softgrasp.io.mesh_files import lacks_reader
from softgrasp.io.object import absolute_name
from softgrasp.io.urdf import xacro
from softgrasp.io.xml_elements import (
    Element,
    element_error,
    element_path,
    line_of,
    number,
    numbers,
    only,
    present_numbers,
)

MOMENTS, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")
MARK = "softgrasp-line"
"""Attribute that keeps the line of an element through the expansion."""
XACRO = "xacro"
"""Part of all namespaces that xacro has used."""
INCLUDED = (".xacro", ".urdf", ".xml", ".ucrdf", ".gazebo")
_FIND = re.compile(r"\$\(find\s+([\w-]+)\)")
_DOCTYPE = re.compile(rb"(?>\s|\xef\xbb\xbf|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE", re.DOTALL)
_UNKNOWN_VERSION = re.compile(rb"""^(<\?xml version=["'])(?!1\.[01])[\d.]+""")
"""Versions that XML does not have; many URDF files say ``0.0``."""
_FIRST_TAG = re.compile(rb"<[A-Za-z_][\w.-]*")
_PREFIXED_TAG = re.compile(rb"<([A-Za-z_][\w.-]*):[\w.-]+")
_PREFIXED_ATTRIBUTE = re.compile(rb"\s([A-Za-z_][\w.-]*):[\w.-]+\s*=\s*[\"']")
_DECLARED_PREFIX = re.compile(rb"xmlns:([\w.-]+)\s*=")
UNDECLARED = "undeclared:"
"""Namespace of a prefix that a file does not declare, before the prefix."""
IN_PACKAGE = ("package://", "model://")
IN_FILE = "file://"
MANIFESTS = ("package.xml", "manifest.xml")
"""Files that mark the root directory of a ROS package."""
ROS_PATH = "ROS_PACKAGE_PATH"
"""Environment variable with directories of packages."""
LISTS = {
    "links": "link",
    "joints": "joint",
    "bendables": "bendable",
    "control": "ros2_control",
    "visuals": "visual",
    "collisions": "collision",
    "actuation": "actuation/*",
    "params": "hardware/param",
    "commands": "command_interface",
    "states": "state_interface",
}
"""Elements of fields that are lists."""
INSIDE = {
    "limits": "curvature/model/limits",
    "backbone": "curvature/model/backbone",
    "model": "curvature/model",
    "degree": "curvature/model",
    "frame": "curvature/model",
    "shape": "geometry/*",
    "rgba": "material/color",
    "lower": "limit",
    "upper": "limit",
    "effort": "limit",
    "velocity": "limit",
    "damping": "dynamics",
    "friction": "dynamics",
    "plugin": "hardware/plugin",
    "min": "param[@name='min']",
    "max": "param[@name='max']",
    "initial_value": "param[@name='initial_value']",
}
"""Elements of other fields; fields not listed have an element of the same name."""


def read_document(path: Path) -> Element:
    """Read the root element of a file.

    Raises:
        DescriptionError: It cannot be read, is not XML, or declares a document type.
    """
    try:
        check_size(path)
        content = path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"expected a readable XML file, found: {reason(error)}") from error
    return parse(content)


def parse(content: bytes) -> Element:
    """Parse the root element of XML text.

    Raises:
        DescriptionError: It is not XML, or declares a document type, whose entities could expand
            without bound or refer to other files.
    """
    if declared := _DOCTYPE.match(content):
        raise _doctype(declared[0].count(b"\n") + 1)
    content = _UNKNOWN_VERSION.sub(rb"\g<1>1.0", content, count=1)
    try:
        root = etree.fromstring(content, _parser())
    except etree.XMLSyntaxError as error:
        content = _with_prefixes(content)
        try:
            root = etree.fromstring(content, _parser())
        except etree.XMLSyntaxError:
            raise DescriptionError(_syntax(error), line=error.lineno) from None
    about: Any = root.getroottree().docinfo
    if about.doctype:  # in an encoding that the pattern does not match
        raise _doctype(None)
    check_elements(root)
    return root


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def _with_prefixes(content: bytes) -> bytes:
    """Declare the prefixes of tags and attributes that a file uses without declaring them.

    Other programs' extensions, such as ``<drake:proximity_properties>``, often have none.
    """
    used = {*_PREFIXED_TAG.findall(content), *_PREFIXED_ATTRIBUTE.findall(content)}
    used -= {b"xml", b"xmlns", *_DECLARED_PREFIX.findall(content)}
    declared = b"".join(b' xmlns:%s="%s%s"' % (p, UNDECLARED.encode(), p) for p in sorted(used))
    return _FIRST_TAG.sub(lambda match: match[0] + declared, content, count=1)


def refuse_xacro(root: Element) -> None:
    """Refuse xacro macros in a file without the suffix .xacro.

    Raises:
        DescriptionError: At the first one.
    """
    for element in root.iter("*"):
        name = etree.QName(element)
        if XACRO in (name.namespace or ""):
            raise DescriptionError(
                f"expected plain XML, found <xacro:{name.localname}>; give the file the suffix "
                ".xacro",
                line=line_of(element),
            )


def _doctype(line: int | None) -> DescriptionError:
    return DescriptionError("expected no document type, found a <!DOCTYPE>", line=line)


def _syntax(error: etree.XMLSyntaxError) -> str:
    unclosed = re.match(
        r"Opening and ending tag mismatch: (\S+) line (\d+) and ([^\s,]+)", error.msg or ""
    )
    if unclosed:
        opened, line, closed = unclosed.groups()
        return f"expected </{opened}>, opened in line {line}, found </{closed}>"
    message = re.sub(r", line \d+, column \d+$", "", error.msg or "nothing").strip()
    return f"expected XML, found: {message}"


# xacro
def expand(path: Path) -> Element:
    """Expand all macros, conditions and expressions of a xacro file; return the root element.

    An element has its line in the macro body; elements from included files have none.

    Raises:
        BackendUnavailable: The ``xacro`` package is not installed.
        DescriptionError: The file is not XML, cannot be expanded, or has expressions or files that
            are not accepted; see ``io.urdf.xacro``.
    """
    xacro.package()
    root = read_document(path)
    if not xacro.settings_now().trusted:
        _refuse_access(root, path, set())
    for element in root.iter("*"):
        if XACRO not in (etree.QName(element).namespace or ""):
            element.set(MARK, str(line_of(element)))
    return _with_lines(parse(xacro.expand(path, etree.tostring(root), find_package)))


def find_package(name: str, directory: Path) -> Path | None:
    """Return the directory of a package that ``package://`` finds, from a directory upwards."""
    return next(filter(Path.is_dir, _packages(name, directory)), None)


def _packages(name: str, directory: Path) -> Iterator[Path]:
    """Possible directories of a package, the most likely one first."""
    above = (directory, *directory.parents)
    yield from (top for top in above if _is_package(top, name))
    yield from (top / name for top in above)
    for root in _ros_paths():
        yield from (root / name, root / "share" / name)


def _ros_paths() -> list[Path]:
    return [Path(root) for root in os.environ.get(ROS_PATH, "").split(os.pathsep) if root]


def _refuse_access(root: Element, path: Path, checked: set[Path]) -> None:
    """Refuse macros that include other files than XML, also in included files."""
    for element in root.iter("*"):
        if etree.QName(element).localname != "include":
            continue
        name = str(element.get("filename", ""))
        if Path(name).suffix.lower() not in INCLUDED:
            raise DescriptionError(
                f"expected macros that read only other XML files, found {short(name)}; "
                "--trust-xacro permits it, for files that you trust",
                file=path,
                line=line_of(element),
            )
        package_name = _FIND.sub(rf"{IN_PACKAGE[0]}\1", name)
        inner = next(filter(Path.is_file, _candidates(package_name, path.parent.absolute())), None)
        if inner is not None and inner.resolve() not in checked:
            checked.add(inner.resolve())
            _refuse_access(read_document(inner), inner, checked)


def _with_lines(root: Element) -> Element:
    for element in root.iter("*"):
        line = element.attrib.pop(MARK, "")
        writable: Any = element  # the stubs know no setter
        writable.sourceline = int(line or 0)  # 0 is an unknown line
    return root


# Mesh files
def mesh_name(element: Element, directory: Path) -> str:
    """Return the library name or absolute path of the file of a ``<mesh>`` beside a directory.

    Raises:
        DescriptionError: There is no such file, or its format is not supported.
        BackendUnavailable: It is a COLLADA file, and pycollada is not installed.
    """
    file_name = str(element.get("filename"))
    if not is_readable(file_name):
        known = ", ".join(MESH_SUFFIXES)
        raise element_error(element, f"expected a mesh as {known}, found '{file_name}'", "filename")
    if lacks_reader(file_name):
        raise BackendUnavailable(
            f"line {line_of(element)}: expected pycollada for the mesh '{file_name}', found none; "
            "pip install 'softgrasp[mesh]', or convert the mesh to STL or OBJ"
        )
    path = locate_mesh(element, directory)
    if path is None:
        where = f"{directory.absolute()}"
        if file_name.startswith(IN_PACKAGE):
            roots = os.environ.get(ROS_PATH, "")
            where += " or above it" + (f", nor in {ROS_PATH} ({roots})" if roots else "")
        message = f"expected a mesh file, found no '{file_name}' in {where}"
        raise element_error(element, message, "filename")
    return path


def locate_mesh(element: Element, directory: Path) -> str | None:
    """Return the library name or absolute path of a ``<mesh>``, None if there is no such file.

    Files for Windows have names with backslashes and capitals that differ, others ``%20``.
    """
    file_name = str(element.get("filename"))
    if assets.find_shipped_file(file_name) is not None:
        return file_name
    names = dict.fromkeys((file_name, unquote(file_name.replace("\\", "/"))))
    paths = [path for name in names for path in _candidates(name, directory.absolute())]
    alike = filter(None, map(in_any_case, paths))
    located = next(filter(Path.is_file, paths), None) or next(alike, None)
    return None if located is None else absolute_name(str(located), directory)


def is_readable(name: str) -> bool:
    """Whether the format of a mesh file is supported."""
    return Path(name).suffix.lower() in MESH_SUFFIXES


def _candidates(file_name: str, directory: Path) -> Iterator[Path]:
    """Possible paths of a file, the most likely one first."""
    if file_name.startswith(IN_FILE):
        yield directory / unquote(file_name.removeprefix(IN_FILE))
        return
    if not file_name.startswith(IN_PACKAGE):
        yield directory / file_name
        return
    package, _, inner = file_name.partition("://")[2].partition("/")
    yield from (top / inner for top in _packages(package, directory))
    yield from (top / inner for top in (*_ros_paths(), directory, *directory.parents))


def _is_package(directory: Path, name: str) -> bool:
    """Whether a directory is the root of a ROS package of that name."""
    for about in MANIFESTS:
        if (directory / about).is_file():
            return directory.name == name or name in _names_in(directory / about)
    return False


def _names_in(manifest: Path) -> list[str]:
    try:
        return [(part.text or "").strip() for part in read_document(manifest).findall("name")]
    except DescriptionError:
        return []  # the name of the directory is used then


# Error locations
def arrange(error: DescriptionError, robot: Element) -> DescriptionError:
    """Relocate an error of a field of a robot to its XML element, or to the nearest parent."""
    if not error.location and error.field:  # about an argument, not about the file
        return error
    element = owner = robot
    listed = name = ""
    for part in error.location:
        if isinstance(part, str):
            owner, listed = element, "" if part in element.attrib else LISTS.get(part, "")
            inner = None if part in element.attrib else element.find(INSIDE.get(part, part))
            element = element if inner is None else inner
            name = "" if listed else part
        elif listed:
            element, listed = owner.findall(listed)[part], ""
    is_named = name in (element.tag, element.get("name"))
    return DescriptionError(
        error.message,
        line=line_of(element),
        field=element_path(element, "" if is_named else name),
        location=error.location,
        value=error.actual,
    )


# Children that several elements have
def origin_tree(element: Element) -> dict[str, Any]:
    """Parse the field ``origin`` of an element with an ``<origin>``; empty if there is none.

    Raises:
        DescriptionError: It is duplicated, or does not have three numbers.
    """
    origin = only(element, "origin")
    if origin is None:
        return {}
    return {"origin": {k: numbers(origin, k, 3) for k in ("xyz", "rpy") if k in origin.attrib}}


def inertial_tree(element: Element) -> dict[str, Any]:
    """Parse the field ``inertial`` of an element with an ``<inertial>``; empty if there is none.

    Raises:
        DescriptionError: A part is missing, duplicated, or not numeric.
    """
    inertial = only(element, "inertial")
    if inertial is None:
        return {}
    mass, inertia = only(inertial, "mass"), only(inertial, "inertia")
    tree = origin_tree(inertial)
    if mass is not None and "value" in mass.attrib:
        tree["mass"] = number(mass, "value")
    if inertia is not None:
        values = dict.fromkeys(PRODUCTS, 0.0) | present_numbers(inertia, *MOMENTS, *PRODUCTS)
        for name in MOMENTS:
            if name not in values:
                raise element_error(inertia, "this attribute is missing; expected a number", name)
        tree["inertia"] = tuple(values[name] for name in (*MOMENTS, *PRODUCTS))
    return {"inertial": tree}
