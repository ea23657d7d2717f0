"""How far the tip of the twin's model is from that of the finger, after the protocol of paper 001.

A finger is photographed at one pressure after another, its pieces' angles are picked, a cubic fit
is made of them, and the model of constant curvatures is posed by the fit. Its tip is compared with
the true one. The finger is simulated (``reference_finger``): nothing here was measured on a real
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import chain_frames
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.picked_angles import PICK_NOISE, Picks, picked_angles
from softgrasp.mechanics.piece_bends import angles_at
from softgrasp.mechanics.pressure_fit import FitReport, fit_pressures
from softgrasp.mechanics.tip_error import tip_error
from softgrasp.mechanics.transforms import Array
from softgrasp.twin.reference_finger import (
    ReferenceFinger,
    ReferenceShape,
    reference_finger,
    shape_at,
)
from softgrasp.vision.depth import WINDOW
from softgrasp.vision.image import Image
from softgrasp.vision.mark_finder import find_marks, in_order
from softgrasp.vision.pick_measurement import DEPTH_NOISE, PickMeasurement, measure_picks
from softgrasp.vision.rgbd_bench import RgbdTestRig, SeenMarks
from softgrasp.vision.rgbd_scene import MARKS

LOWEST, HIGHEST = -90e3, 120e3
"""Pressures that paper 001 goes through [Pa]."""
STEP = 5e3
"""One sample every 5 kPa: 43 of them [Pa]."""
PAPER = {-90e3: 0.023, 50e3: 0.008, 100e3: 0.015, 120e3: 0.034}
"""E of paper 001, Table I, by pressure [Pa]; of a real finger and a motion capture system."""
LIMIT = 0.04
"""What paper 001 claims to stay below [–]."""
Protocol = Literal["edges", "chords"]
"""Picks at both edges of each cut, or one on the middle line."""
ProgressCallback = Callable[[str, float | None], None]


@dataclass(frozen=True, eq=False)
class Sample:
    """The finger at one pressure, and what was picked of it."""

    pressure: float
    """[Pa]"""
    shape: ReferenceShape
    measured: PickMeasurement
    image: Image | None
    """(height, width, 3); None where marks were projected and no picture was drawn."""


@dataclass(frozen=True, eq=False)
class AccuracyStudy:
    """All samples, the fit, and the model's tips; m samples, n pieces."""

    reference: ReferenceFinger
    samples: tuple[Sample, ...]
    report: FitReport
    protocol: Protocol
    seed: int

    @property
    def pressures(self) -> Array:
        """[Pa], (m,)."""
        return np.array([sample.pressure for sample in self.samples])

    @property
    def true_angles(self) -> Array:
        """[rad], (m, n)."""
        return np.array([sample.shape.piece_angles for sample in self.samples])

    @property
    def true_tips(self) -> Array:
        """In the finger's base frame, along +x, z up [m], (m, 3)."""
        return np.array([sample.shape.tip for sample in self.samples])

    @property
    def model_tips(self) -> Array:
        """Of the model that the fit poses, in the same frame [m], (m, 3)."""
        return np.array([self.model_shape(pressure)[-1] for pressure in self.pressures])

    @property
    def errors(self) -> Array:
        """E = ‖tip − true tip‖ / Σℓ at each pressure [–], (m,)."""
        return tip_error(self.model_tips, self.true_tips, self.reference.lengths)

    def model_shape(self, pressure: float, points: int = 1) -> Array:
        """The model's axis at a pressure [Pa], ``points`` a piece, (n · points + 1, 3) [m].

        Raises:
            DescriptionError: The pressure lies outside those that were measured.
        """
        angles = angles_at(self.report.fit, pressure)
        return constant_curvature_axis(angles, self.reference.lengths, points)


def protocol_pressures(step: float = STEP) -> Array:
    """Pressures of the samples, with those of the paper's table always among them [Pa], (m,)."""
    even = np.arange(LOWEST, HIGHEST + 1.0, step)
    return np.union1d(even, list(PAPER))


def constant_curvature_axis(angles: ArrayLike, lengths: ArrayLike, points: int = 1) -> Array:
    """Axis of pieces that bend by angles, in the frame of soft fingers, (n · points + 1, 3) [m].

    Args:
        angles: Positive towards −z [rad], (n,).
        lengths: [m], (n,).
        points: A piece.
    """
    arcs, bends = np.asarray(lengths, dtype=float), np.asarray(angles, dtype=float)
    parts = np.repeat(arcs, points) / points
    frames = chain_frames(np.repeat(bends / arcs, points), np.zeros(len(parts)), parts)
    # a segment stands along +z and bends towards +x
    return np.asarray(frames[:, :3, 3] @ [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def accuracy_study(
    pressures: ArrayLike | None = None,
    *,
    protocol: Protocol = "edges",
    image_pressures: Sequence[float] | None = None,
    pick_noise: float = PICK_NOISE,
    depth_noise: float = DEPTH_NOISE,
    seed: int = 0,
    reference: ReferenceFinger | None = None,
    progress: ProgressCallback | None = None,
) -> AccuracyStudy:
    """Photograph, pick, fit, pose and compare.

    Args:
        pressures: At which the finger is photographed, ``protocol_pressures`` where not given
            [Pa], (m,).
        protocol: How cuts are picked.
        image_pressures: Pressures at which a picture is drawn, in which marks are found, None for all;
            elsewhere the marks are projected, which differs by at most 0.2 pixels.
        pick_noise: Standard deviation added to every pick in column and in row [pixels].
        depth_noise: Standard deviation added to the depth of every pixel [m].
        seed: Of the noise.
        reference: The finger; else the shipped one.
        progress: Called with what is done and how much of it, 0 to 1.

    Raises:
        DescriptionError: No such protocol, or as ``fit_pressures``.
    """
    if protocol not in ("edges", "chords"):
        hint = did_you_mean(protocol, ("edges", "chords"))
        raise DescriptionError(f"no protocol '{protocol}'; {hint}", field="protocol")
    finger = reference or reference_finger()
    test_rig = RgbdTestRig(finger.finger, finger.stations)
    chosen = protocol_pressures() if pressures is None else pressures
    requested = np.asarray(chosen, dtype=float).tolist()
    samples = []
    for index, pressure in enumerate(requested):
        if progress is not None:
            progress(f"{pressure / 1e3:g} kPa", index / len(requested))
        drawn = image_pressures is None or pressure in image_pressures
        shape = shape_at(finger, pressure)
        rng = np.random.default_rng([seed, index])
        noise = (pick_noise, depth_noise)
        measured, image = (_pictured if drawn else _projected)(
            test_rig, shape, protocol, noise, rng
        )
        samples.append(Sample(pressure, shape, measured, image))
    report = fit_pressures(
        requested,
        [sample.measured.angles for sample in samples],
        finger.lengths,
        name="twin_reference",
        source="softgrasp: simulated finger, synthetic pictures",
    )
    return AccuracyStudy(finger, tuple(samples), report, protocol, seed)


Seen = tuple[PickMeasurement, Image | None]
Noise = tuple[float, float]


def _pictured(
    test_rig: RgbdTestRig,
    shape: ReferenceShape,
    protocol: Protocol,
    noise: Noise,
    rng: np.random.Generator,
) -> Seen:
    """Draw the picture, find the marks in it, and pick them with noise."""
    seed = int(rng.integers(2**32))
    seen = test_rig.image(shape.joint_angles, depth_noise=noise[1], seed=seed)
    spots = find_marks(seen.image, MARKS)
    line = in_order(spots["line"], 2, np.zeros(2))
    cuts = len(test_rig.stations)
    rows = {row: in_order(spots[row], cuts, line[1]) for row in ("upper", "middle", "lower")}
    picks = _noisy(rows | {"line": line}, protocol, noise[0], rng)
    measurement = measure_picks(
        seen.image, test_rig.camera, picks, seen.depth, pick_noise=noise[0], depth_noise=noise[1]
    )
    return measurement, seen.image


def _projected(
    test_rig: RgbdTestRig,
    shape: ReferenceShape,
    protocol: Protocol,
    noise: Noise,
    rng: np.random.Generator,
) -> Seen:
    """The same without a picture: true places of the marks, and noise."""
    seen: SeenMarks = test_rig.marks(shape.joint_angles)
    picks = _noisy(seen.pixels, protocol, noise[0], rng)
    # what the median over a window leaves of the noise of a pixel
    left = noise[1] * np.sqrt(0.5 * np.pi) / (2 * WINDOW + 1)
    rows = ("upper", "lower") if protocol == "edges" else ("middle",)
    depths = np.stack([seen.depths[row] for row in rows], axis=1)
    picks = picks._replace(depths=(depths + rng.normal(0.0, left, depths.shape)).ravel())
    joint_angles = picked_angles(test_rig.camera, picks, pick_noise=noise[0], depth_noise=left)
    return PickMeasurement(picks, joint_angles.angles, joint_angles.sigmas), None


def _noisy(
    rows: dict[str, Array], protocol: Protocol, noise: float, rng: np.random.Generator
) -> Picks:
    if protocol == "edges":
        cuts = np.stack([rows["upper"], rows["lower"]], axis=1)
    else:
        cuts = rows["middle"]
    line = rows["line"]
    return Picks(cuts + rng.normal(0.0, noise, cuts.shape), line + rng.normal(0.0, noise, (2, 2)))
