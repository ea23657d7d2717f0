"""Webots worlds (.wbt): text ⇄ nodes, and what Webots asks of them."""

from softgrasp.formats.wbt.node import Node, Value
from softgrasp.formats.wbt.parse import parse_world, read_world
from softgrasp.formats.wbt.rules import Problem, check_world, problems
from softgrasp.formats.wbt.schema import default, value
from softgrasp.formats.wbt.world import World
from softgrasp.formats.wbt.write import world_text

__all__ = [
    "Node",
    "Problem",
    "Value",
    "World",
    "check_world",
    "default",
    "parse_world",
    "problems",
    "read_world",
    "value",
    "world_text",
]
