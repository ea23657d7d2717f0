"""Measure the tip error of the twin's model on a simulated finger (Table I of Xiang et al. 2024).

``accuracy_study`` photographs a finger at one pressure after another, picks the angles of its
pieces, fits a cubic polynomial of pressure to them, and compares the tip of the
constant-curvature model with the true one. Nothing here was measured on a real finger.

The reference finger differs from the fitted model: a chain of many links in MuJoCo whose bending
stiffness varies within every piece, as in a finger with chambers, which sags under its weight,
and whose moment is not proportional to the pressure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from examples.paper001.images import RgbdTestRig, detected_marks
from examples.paper001.pieces import LENGTHS, tip_error
from softgrasp.continuum.pcc import chain_frames
from softgrasp.description.soft_finger import SoftFinger, SoftJoint, SoftLink
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_statics import equilibrium
from softgrasp.twin.piecewise_bending import FitReport, angles_at, fit_pressures
from softgrasp.vision.image import Image
from softgrasp.vision.point_picking import (
    DEPTH_NOISE,
    PICK_NOISE,
    WINDOW,
    PickMeasurement,
    Picks,
    measure_picks,
    pick_angles,
)

JOINTS = 10
"""Joints per piece."""
STIFFNESS = 6e-3
"""Bending stiffness EI, averaged over a piece [N·m²]."""
MASS = 0.022
"""Mass of the whole finger [kg]."""
SECTION = (0.020, 0.018)
"""Width and height [m]."""
GAINS = (0.62e-6, 0.95e-6, 1.15e-6, 0.90e-6)
"""Bending moment over pressure, by piece [N·m/Pa]."""
CHAMBERS, CONTRAST, DRIFT = 2, 0.35, 0.25
"""Chambers per piece; relative variation of EI along a chamber; relative decrease of EI along a
piece [–]."""
SATURATION = 3.0e5
"""Pressure scale of the exponential growth of the moment [Pa]."""
LOWEST, HIGHEST, STEP = -90e3, 120e3, 5e3
"""Range of pressures in Xiang et al. (2024), and their step, which gives 43 samples [Pa]."""
PAPER = {-90e3: 0.023, 50e3: 0.008, 100e3: 0.015, 120e3: 0.034}
"""Tip error E by pressure [Pa] (Table I), of a real finger and motion capture [–]."""
LIMIT = 0.04
"""Tip error that Xiang et al. (2024) state as an upper bound [–]."""
STATIONS = np.concatenate([[0.0], np.cumsum(LENGTHS)])
"""Positions of the cuts along the straight finger, base and tip included [m], (n + 1,)."""


class ReferenceShape(NamedTuple):
    """The reference finger in equilibrium, in its base frame: straight along +x, z up."""

    joint_angles: Array
    """Joint angles, positive towards −z [rad], (m,)."""
    piece_angles: Array
    """True bending angle of each piece [rad], (n,)."""
    tip: Array
    """Position of the tip [m], (3,)."""


def reference_finger(joints: int = JOINTS) -> SoftFinger:
    """Make the reference finger, clamped level; its numbers are chosen, not measured.

    Args:
        joints: Joints per piece, in the middle of equal cells; the study needs at least 32
            links, which are 8 joints in each of four pieces.
    """
    fractions = (np.arange(joints) + 0.5) / joints
    # soft in its chambers and stiff between them
    chambers = 1.0 - CONTRAST * np.cos(2.0 * np.pi * CHAMBERS * fractions)
    springs = STIFFNESS * chambers * (1.0 + DRIFT * (0.5 - fractions))
    bends = [
        SoftJoint(
            position=(start + fraction * length, 0.0, 0.0),
            stiffness=joints * stiffness / length,
            pressure_gain=gain,
        )
        for start, length, gain in zip(STATIONS[:-1].tolist(), LENGTHS, GAINS, strict=True)
        for fraction, stiffness in zip(fractions.tolist(), springs.tolist(), strict=True)
    ]
    whole = sum(LENGTHS)
    bounds = [0.0, *(joint.position[0] for joint in bends), whole]
    links = [
        SoftLink(
            center=(0.5 * (begin + end), 0.0, 0.0),
            mass=MASS * (end - begin) / whole,
            size=(end - begin, *SECTION),
        )
        for begin, end in pairwise(bounds)
    ]
    return SoftFinger(
        name="twin_reference",
        joints=tuple(bends),
        links=tuple(links),
        tip=(whole, 0.0, 0.0),
        source="softgrasp: chosen numbers, simulated; no real finger",
    )


def driving_pressure(pressure: float) -> float:
    """Convert a pressure to that with which a linear finger has the same angles [Pa].

    p_s (exp(p/p_s) − 1), with the saturation p_s.
    """
    return SATURATION * float(np.expm1(pressure / SATURATION))


def shape_at(finger: SoftFinger, pressure: float) -> ReferenceShape:
    """Compute the equilibrium under weight and a pressure [Pa], with MuJoCo's joint forces."""
    rest = equilibrium(finger, pressure=driving_pressure(pressure), error_estimate=False)
    assert rest.converged, f"no equilibrium at {pressure / 1e3:g} kPa"
    positions = [joint.position[0] for joint in finger.joints]
    owners = np.searchsorted(STATIONS[1:-1], positions)
    angles = np.bincount(owners, weights=rest.joint_angles, minlength=len(LENGTHS))
    return ReferenceShape(rest.joint_angles, np.asarray(angles, float), rest.tip_position)


# Study


class Sample(NamedTuple):
    """Simulated finger at one pressure, and the points picked in its image."""

    pressure: float
    """Pressure [Pa]."""
    shape: ReferenceShape
    measured: PickMeasurement
    image: Image | None
    """RGB image, (height, width, 3); None where marks were projected and no image was rendered."""


class AccuracyStudy(NamedTuple):
    """Samples, fit and model tips of an accuracy study; m samples, n pieces."""

    finger: SoftFinger
    samples: tuple[Sample, ...]
    report: FitReport

    @property
    def pressures(self) -> Array:
        """Pressures [Pa], (m,)."""
        return self.report.pressures

    @property
    def true_angles(self) -> Array:
        """True bending angles [rad], (m, n)."""
        return np.array([sample.shape.piece_angles for sample in self.samples])

    @property
    def true_tips(self) -> Array:
        """True tips in the finger's base frame, along +x, z up [m], (m, 3)."""
        return np.array([sample.shape.tip for sample in self.samples])

    @property
    def model_tips(self) -> Array:
        """Tips of the fitted model, in the same frame [m], (m, 3)."""
        return np.array([self.model_shape(pressure)[-1] for pressure in self.pressures])

    @property
    def errors(self) -> Array:
        """Tip error E = ‖tip − true tip‖ / Σℓ at each pressure [–], (m,)."""
        return tip_error(self.model_tips, self.true_tips, LENGTHS)

    def model_shape(self, pressure: float, points: int = 1) -> Array:
        """Return the model's axis at a pressure [Pa], (n · points + 1, 3) [m]."""
        return constant_curvature_axis(angles_at(self.report.fit, pressure), points)


def protocol_pressures() -> Array:
    """Return the 43 pressures of the samples [Pa], (m,)."""
    return np.arange(LOWEST, HIGHEST + 1.0, STEP)


def accuracy_study(
    pressures: ArrayLike | None = None,
    *,
    edges: bool = True,
    image_pressures: Sequence[float] | None = tuple(PAPER),
    seed: int = 0,
) -> AccuracyStudy:
    """Render the finger, pick points, fit the model and compare tips at all pressures.

    Every pick has 1 pixel of noise in column and in row, every depth 2 mm.

    Args:
        pressures: Pressures at which the finger is photographed [Pa], (m,); default:
            ``protocol_pressures``.
        edges: Whether both edges of each cut are picked; else one point on the middle line.
        image_pressures: Pressures at which an image is rendered and marks are detected in it,
            None for all; elsewhere the marks are projected, which differs by at most 0.2 pixels.
        seed: Seed of the noise.

    Raises:
        DescriptionError: As ``fit_pressures``.
    """
    chosen = protocol_pressures() if pressures is None else np.asarray(pressures, dtype=float)
    finger = reference_finger()
    test_rig = RgbdTestRig(finger, STATIONS)
    samples = []
    for index, pressure in enumerate(chosen.tolist()):
        shape, rng = shape_at(finger, pressure), np.random.default_rng([seed, index])
        drawn = image_pressures is None or pressure in image_pressures
        measure = _measured_in_image if drawn else _measured_in_projection
        samples.append(Sample(pressure, shape, *measure(test_rig, shape, edges, rng)))
    report = fit_pressures(
        chosen,
        [sample.measured.angles for sample in samples],
        LENGTHS,
        name="twin_reference",
        source="softgrasp: simulated finger, synthetic images",
    )
    return AccuracyStudy(finger, tuple(samples), report)


def _measured_in_image(
    test_rig: RgbdTestRig, shape: ReferenceShape, edges: bool, rng: np.random.Generator
) -> tuple[PickMeasurement, Image]:
    """Render the image, detect the marks in it, and add noise to the picked points."""
    seed = int(rng.integers(2**32))
    seen = test_rig.image(shape.joint_angles, depth_noise=DEPTH_NOISE, seed=seed)
    picks = _picks(detected_marks(seen.image, len(STATIONS)), edges, rng)
    return measure_picks(seen.image, test_rig.camera, picks, seen.depth), seen.image


def _measured_in_projection(
    test_rig: RgbdTestRig, shape: ReferenceShape, edges: bool, rng: np.random.Generator
) -> tuple[PickMeasurement, None]:
    """Project the marks without an image, and add noise."""
    seen = test_rig.marks(shape.joint_angles)
    picks = _picks(seen.pixels, edges, rng)
    # standard deviation of the median over a window
    noise = DEPTH_NOISE * np.sqrt(0.5 * np.pi) / (2 * WINDOW + 1)
    depths = np.stack([seen.depths[row] for row in _rows(edges)], axis=1)
    picks = picks._replace(depths=(depths + rng.normal(0.0, noise, depths.shape)).ravel())
    estimate = pick_angles(test_rig.camera, picks, depth_noise=noise)
    return PickMeasurement(picks, estimate.angles, estimate.sigmas), None


def _rows(edges: bool) -> tuple[str, ...]:
    return ("upper", "lower") if edges else ("middle",)


def _picks(pixels: dict[str, Array], edges: bool, rng: np.random.Generator) -> Picks:
    """Pick both edges of each cut, or its middle, and the reference line, with noise."""
    cuts = np.stack([pixels[row] for row in _rows(edges)], axis=1)
    cuts = cuts if edges else cuts[:, 0]
    line = pixels["line"]
    return Picks(
        cuts + rng.normal(0.0, PICK_NOISE, cuts.shape),
        line + rng.normal(0.0, PICK_NOISE, line.shape),
    )


def constant_curvature_axis(angles: ArrayLike, points: int = 1) -> Array:
    """Return the axis of bent pieces in the frame of soft fingers, (n · points + 1, 3) [m].

    Args:
        angles: Bending angles, positive towards −z [rad], (n,).
        points: Points per piece.
    """
    parts = np.repeat(np.array(LENGTHS), points) / points
    bends = np.repeat(np.asarray(angles, dtype=float), points) / points
    frames = chain_frames(bends / parts, np.zeros(len(parts)), parts)
    # a segment is straight along +z and bends towards +x
    return np.asarray(frames[:, :3, 3] @ [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
