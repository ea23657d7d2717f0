"""Changes of numbers in the text of a robot file, which leave every other byte as it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from softgrasp.assets import MACRO_SUFFIX
from softgrasp.description.robot import Robot
from softgrasp.io.files import write_bytes
from softgrasp.io.urdf.reader import drop_empty_shapes, drop_more_inertials, drop_unreadable_visuals
from softgrasp.io.urdf.writer import robot_element, write_robot
from softgrasp.io.urdf.xml import locate_mesh, read_document
from softgrasp.io.xml_elements import Element, element_path, line_of

_TAG = re.compile(
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|</[^>]*>"
    rb"|(?P<start><[A-Za-z_](?:[^\"'>]|\"[^\"]*\"|'[^']*')*>)",
    re.DOTALL,
)
SHORT = 60
"""Largest number of characters of a value in a message."""


class Edit(NamedTuple):
    """A changed attribute of an element in a file."""

    line: int
    field: str
    """Path of the attribute, such as ``link 'palm': inertial.mass.value``."""
    before: str
    """Text in the file; "" where the attribute was missing."""
    after: str

    def sentence(self, file: str) -> str:
        """Return the edit with its line."""
        before, after = (_short(text) if text else "none" for text in (self.before, self.after))
        return f"{file}:{self.line}: {self.field}: {before} → {after}"


def write_changed(source: Path, before: Robot, after: Robot, target: Path) -> tuple[Edit, ...]:
    """Write a robot file in which only numbers are changed, and return the changes.

    Of a xacro file the expanded robot is written, without a list of changes.

    Raises:
        DescriptionError: The source cannot be read, or has text that XML does not allow.
        ResultError: The file cannot be written.
    """
    if source.suffix.lower() == MACRO_SUFFIX:
        write_robot(after, target)
        return ()
    content, edits = edit_file(source, before, after, target.parent)
    write_bytes(target, content)
    return edits


def edit_file(
    path: Path, before: Robot, after: Robot, directory: Path
) -> tuple[bytes, tuple[Edit, ...]]:
    """Change the numbers of a URDF file in which two descriptions differ.

    Args:
        path: URDF or U(C)RDF file, no xacro.
        before: The robot as it is read.
        after: The robot with other numbers; an ``<inertia>`` may be added.
        directory: Where the text will be written; names of meshes are adapted to it.

    Returns:
        Content of the new file, and the changed attributes in the order of lines, without the names
        of meshes.

    Raises:
        DescriptionError: The file cannot be read.
    """
    content, root = path.read_bytes(), read_document(path)
    elements = list(root.iter("*"))
    starts = [match.span() for match in _TAG.finditer(content) if match["start"]]
    spans = dict(zip(elements, starts, strict=True))
    drop_more_inertials(root)
    drop_empty_shapes(root)
    drop_unreadable_visuals(root, path.parent)
    pairs = (robot_element(robot.replace(source="")) for robot in (before, after))
    new_texts: dict[Element, _New] = {}
    for element, values, child in [*_changes(root, *pairs), *_move_meshes(root, path, directory)]:
        new = new_texts.setdefault(element, _New({}, []))
        new.values.update(values)
        new.children.extend(child)
    edits: list[Edit] = []
    for element in sorted(new_texts, key=lambda one: spans[one], reverse=True):
        start, end = spans[element]
        new = new_texts[element]
        tag = content[start:end]
        for name, value in new.values.items():
            tag = _with_attribute(tag, name, value)
        inside = b"".join(etree.tostring(child) for child in new.children)
        content = content[:start] + tag + inside + content[end:]
        edits[:0] = _edits(element, new)
    return content, tuple(edits)


class _New(NamedTuple):
    """New attributes of an element and new first children."""

    values: dict[str, str]
    children: list[Element]


Change = tuple[Element, dict[str, str], list[Element]]
"""Element of the file, its new attributes, and new first children."""


def _changes(source: Element, before: Element, after: Element) -> Iterator[Change]:
    """Compare two written robots, and yield the differences at the elements of their file."""
    values = {key: text for key, text in after.attrib.items() if before.get(key) != text}
    if values:
        yield source, {str(key): str(text) for key, text in values.items()}, []
    for tag in dict.fromkeys(str(child.tag) for child in after):
        old, new, there = (item.findall(tag) for item in (before, after, source))
        yield from (
            change for parts in zip(there, old, new, strict=False) for change in _changes(*parts)
        )
        for added in new[len(old) :]:
            added.tail = None
            yield source, {}, [added]


def _move_meshes(root: Element, file: Path, target: Path) -> Iterator[Change]:
    """Yield new names of the meshes that cannot be located from another directory."""
    for mesh in root.iter("mesh"):
        path = locate_mesh(mesh, file.parent) if "filename" in mesh.attrib else None
        if path is None or not Path(path).is_absolute() or locate_mesh(mesh, target) == path:
            continue
        try:
            name = os.path.relpath(path, target.absolute())
        except ValueError:  # another drive
            name = path
        yield mesh, {"filename": Path(name).as_posix()}, []


def _with_attribute(tag: bytes, name: str, value: str) -> bytes:
    """Set an attribute in the text of a start tag."""
    pattern = re.compile(rb"(\s" + name.encode() + rb"\s*=\s*)(\"[^\"]*\"|'[^']*')")
    text = etree.tostring(etree.Element("a", {name: value})).split(b"=", 1)[1].rstrip(b"/>")
    if pattern.search(tag):
        return pattern.sub(lambda match: match[1] + text, tag, count=1)
    end = -2 if tag.endswith(b"/>") else -1
    return tag[:end].rstrip() + b" " + name.encode() + b"=" + text + tag[end:]


def _edits(element: Element, new: _New) -> list[Edit]:
    line, children = line_of(element) or 0, [(child.tag, child) for child in new.children]
    attributes = [
        Edit(line, element_path(element, name), element.get(name, ""), value)
        for name, value in new.values.items()
        if name != "filename"
    ]
    return attributes + [
        Edit(line, element_path(element, str(tag)), "", etree.tostring(child).decode())
        for tag, child in children
    ]


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"
