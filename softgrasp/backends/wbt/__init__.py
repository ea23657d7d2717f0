"""Webots worlds (.wbt): read, write and check their text without Webots."""

from softgrasp.backends.wbt.parser import World, parse_world, read_world
from softgrasp.backends.wbt.schema import Node, Value, default, value
from softgrasp.backends.wbt.tokens import world_text
from softgrasp.backends.wbt.validation import Problem, problems

__all__ = [
    "Node",
    "Problem",
    "Value",
    "World",
    "default",
    "parse_world",
    "problems",
    "read_world",
    "value",
    "world_text",
]
