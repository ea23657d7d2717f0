"""Makes four_piece.csv and four_piece.yaml: angles of a finger of four pieces, and their fit.

Run it from anywhere with softgrasp installed: ``python assets/pressure_fits/make_four_piece.py
[FOLDER]``. The lengths of the pieces are those of paper 001 (Xiang et al. 2024); the angles are
simulated, as the paper prints its own only as a picture, and noise of a known size is added.

The finger: over a layer that does not stretch stand bellows, filled with air, of height h and
width w along the pieces; they hang straight down without pressure. Where a piece of length l bends
by theta, a wall at height y stretches by 1 + theta y / (l f), with f the length of the folded wall
over that of the piece, and the air has the volume w (l h + theta h^2 / 2). The walls are
incompressible neo-Hookean in plane strain, with the energy mu/2 (s^2 + 1/s^2 - 2) a volume at the
stretch s; so they soften when they are blown up and stiffen when they are sucked in. Each piece is
a chain of eight links with the joints at their middles; at rest the whole energy, with that of the
weight and of the pressure, has no slope.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import root

from softgrasp.twin.files import (
    PieceAngles,
    load_piece_angles,
    save_piece_angles,
    save_pressure_fit,
)
from softgrasp.twin.piecewise_bending import fit_pressures

LENGTHS = np.array([14e-3, 14e-3, 12.32e-3, 15.39e-3])
"""Of the pieces, base first [m]: three with air chambers, and the head."""
HEIGHTS = np.array([13.0, 12.5, 12.0, 9.0]) * 1e-3
"""Of the bellows [m]; the head holds a shallow one."""
WALLS = np.array([1.6, 1.6, 1.6, 2.6]) * 1e-3
"""Their thickness [m]."""
WIDTH, FOLD = 14e-3, 1.5
"""Of the bellows [m], and length of a folded wall over the piece's."""
MODULUS = 0.52e6
"""Shear modulus mu of the silicone [Pa]."""
MASS = 0.45
"""Of a length of the finger [kg/m]: 25 g in all."""
GRAVITY, LINKS = 9.81, 8
"""[m/s^2], and links a piece."""
PRESSURES = np.arange(-90e3, 120e3 + 1.0, 5e3)
"""43 samples [Pa]."""
NOISE, SEED = np.radians(0.3), 1
"""Standard deviation of a measured angle [rad]."""
DIGITS = 2
"""Of the angles in the file [deg]."""

LENGTH = np.repeat(LENGTHS, LINKS) / LINKS
HEIGHT, WALL = np.repeat(HEIGHTS, LINKS), np.repeat(WALLS, LINKS)
LAYERS = (np.arange(20)[:, None] + 0.5) / 20
"""Heights in the side walls where their stretch is taken, over the whole; the top wall is last."""


def wall_moments(bends: np.ndarray) -> np.ndarray:
    """Moments with which the walls of the links resist bends [N m], (32,)."""

    heights = np.vstack([LAYERS * HEIGHT, HEIGHT])
    areas = np.vstack([np.tile(2 * WALL * HEIGHT / len(LAYERS), (len(LAYERS), 1)), WIDTH * WALL])
    stretch = 1.0 + bends * heights / (LENGTH * FOLD)
    return np.sum(MODULUS * (stretch - stretch**-3) * areas * heights / FOLD, axis=0)


def weight_moments(bends: np.ndarray) -> np.ndarray:
    """Moments with which the weight of what lies beyond each joint straightens it [N m], (32,)."""
    turns = np.cumsum(bends)
    # a rigid body reaches from a joint, in the middle of a link, to the next one
    bodies = 0.5 * (LENGTH + np.append(LENGTH[1:], 0.0))
    ends = np.cumsum(bodies * np.sin(turns))
    joints = np.append(0.0, ends[:-1])
    weights = GRAVITY * MASS * bodies
    centres = 0.5 * (joints + ends)
    carried = np.cumsum((weights * centres)[::-1])[::-1]
    return carried - np.cumsum(weights[::-1])[::-1] * joints


def true_angles(pressure: float) -> np.ndarray:
    """Bending angles of the pieces at rest at a pressure [rad], (4,)."""
    drive = pressure * WIDTH * HEIGHT**2 / 2.0
    found = root(lambda bends: wall_moments(bends) + weight_moments(bends) - drive,
                 drive * 0.0, tol=1e-12)  # fmt: skip
    if not found.success:
        raise SystemExit(f"no rest at {pressure:g} Pa: {found.message}")
    return found.x.reshape(-1, LINKS).sum(axis=1)


def make(folder: Path) -> None:
    """Write the table and the fit."""
    noise = np.random.default_rng(SEED).normal(0.0, NOISE, (len(PRESSURES), len(LENGTHS)))
    truth = np.array([true_angles(pressure) for pressure in PRESSURES])
    angles = np.radians(np.round(np.degrees(truth + noise), DIGITS) + 0.0)
    table = save_piece_angles(
        PieceAngles(PRESSURES, angles),
        folder / "four_piece.csv",
        remarks="Simulated, not measured: bellows of silicone, see make_four_piece.py; normal noise"
        "\nof 0.3 deg is added. Lengths of the pieces, base first: 14, 14, 12.32, 15.39 mm.",
    )
    measured = load_piece_angles(table)
    report = fit_pressures(
        measured.pressures,
        measured.angles,
        LENGTHS,
        sigma=float(NOISE),
        name="four_piece",
        source="softgrasp's own: simulated bellows with noise of 0.3 deg "
        "(make_four_piece.py); lengths of the pieces from Xiang et al. 2024",
    )
    save_pressure_fit(
        report.fit,
        folder / "four_piece.yaml",
        comment="Made by make_four_piece.py from four_piece.csv: simulated angles, not paper 001's."
        "\nSI: m, rad, Pa; angle = sum of c_k (pressure / scale)^k, a row a piece.",
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
