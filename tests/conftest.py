"""Habits of all tests: no test depends on the clock, or on chance."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("softgrasp", deadline=None, derandomize=True)
settings.load_profile("softgrasp")
