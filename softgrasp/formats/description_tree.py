"""Descriptions as plain data that YAML files hold."""

from __future__ import annotations

from typing import Any

from softgrasp.description.base import Description
from softgrasp.formats.yaml_file import Tree


def description_tree(value: Any, *, types: bool = True) -> Tree:
    """A description as plain data without the fields that are as by default.

    Args:
        value: A description, or what one holds.
        types: Keep every field ``type``, which says what kind of thing it is.
    """
    if isinstance(value, Description):
        fields = type(value).model_fields
        return {
            name: description_tree(part, types=types)
            for name, field in fields.items()
            if (part := getattr(value, name)) != field.default or (types and name == "type")
        }
    if isinstance(value, tuple | list):
        return [description_tree(part, types=types) for part in value]
    return value
