"""Rows about hydraulic arms, for ``softgrasp list``."""

from __future__ import annotations

from typing import Any

from softgrasp import library

Row = dict[str, Any]


def hydraulic_arms() -> list[Row]:
    """Return a row for each arm of soft sections."""
    from softgrasp.formats.hydraulic_arm_file import load_hydraulic_arm

    return [
        {
            "name": name,
            "sections": len(arm.sections),
            "chambers": len(arm.chambers),
            "mass_kg": float(f"{sum(section.mass for section in arm.sections):.4g}"),
            "source": arm.source,
        }
        for name in library.names("hydraulic_arms")
        for arm in [load_hydraulic_arm(name)]
    ]
