"""Continuum mechanics: constant curvature, rigid-link discretisation, statics and settling."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {"continuum.load_path": ("differences", "follow", "NEUTRAL", "PathPoint", "solve_near")}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
