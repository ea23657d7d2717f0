"""What Webots asks of a world beyond its format, one small function a rule."""

from softgrasp.formats.wbt.rules.problems import RULES, Problem, check_world, problems

__all__ = ["RULES", "Problem", "check_world", "problems"]
