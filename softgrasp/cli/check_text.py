"""What ``softgrasp check`` found, as text for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from softgrasp.cli import terminal
from softgrasp.cli.robot_facts import bendable_line, control_line, joint_line

SENTENCES = ("checks", "findings", "problems", "remarks", "repairs", "verdict")
"""Parts of the document that come after the facts."""


def print_document(document: dict[str, Any]) -> None:
    """Facts, a table of the checks, remarks, problems and the verdict on standard output."""
    lines: dict[str, Callable[[Any], str]] = {
        "fingers": _finger_line,
        "couplings": _coupling_line,
        "notes": str,
        "warnings": str,
        "soft_fingers": _soft_line,
        "bendables": bendable_line,
        "rigid_joints": joint_line,
        "control": control_line,
    }
    for name, value in document.items():
        if name in SENTENCES:
            continue
        if name in lines and value:
            terminal.put(f"{name.replace('_', ' ')}:")
            for part in value:
                terminal.put(f"  {lines[name](part)}")
        elif value not in ("", []):
            terminal.put(f"{name}: {_text(value)}")
    if checks := document.get("checks"):
        rows = [[one["name"], one["verdict"], one["measured"]] for one in checks]
        terminal.put_table(["check", "verdict", "measured"], rows)
    for one in document.get("repairs", []):
        terminal.put(f"repaired: {one['sentence']}")
    for remark in document["remarks"]:
        terminal.put(f"remark: {remark}")
    for problem in document["problems"]:
        terminal.put(f"problem: {problem}")
    terminal.put(document["verdict"])


def _soft_line(finger: dict[str, Any]) -> str:
    low, high = (1e-3 * limit for limit in finger["pressure_limits_Pa"])
    return (
        f"{finger['name']}: {finger['finger']}, {finger['joints']} joints, "
        f"{1e3 * finger['length_m']:.3g} mm, {1e3 * finger['mass_kg']:.3g} g; {low:g}…{high:g} "
        f"kPa, {math.degrees(finger['bending_rad']):.0f}° at the highest"
    )


def _coupling_line(coupling: dict[str, Any]) -> str:
    plus = f" {coupling['offset']:+g}" if coupling["offset"] else ""
    return f"{coupling['joint']} = {coupling['ratio']:g} · {coupling['leader']}{plus}"


def _finger_line(finger: dict[str, Any]) -> str:
    limits = ", ".join(
        f"{name} {low:.4g}…{high:.4g}"
        for name, (low, high) in zip(finger["joints"], finger["limits"], strict=True)
    )
    return (
        f"{finger['name']}: {len(finger['joints'])} joints, {len(finger['phalanges'])} phalanges, "
        f"{1e3 * finger['length_m']:.4g} mm, {1e3 * finger['mass_kg']:.4g} g, "
        f"{finger['convention']} convention; limits [rad or m] {limits}"
    )


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
