"""Measure the tip error of the twin's model on a simulated finger, after Xiang et al. (2024).

``accuracy_study`` photographs a finger at one pressure after another, picks the angles of its
pieces, fits a cubic polynomial of pressure to them, and compares the tip of the
constant-curvature model with the true one. Nothing here was measured on a real finger.

The reference finger differs from the fitted model: a chain of many links in MuJoCo whose bending
stiffness varies within every piece, as in a finger with chambers, which sags under its weight,
and whose moment is not proportional to the pressure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import chain_frames
from softgrasp.description.soft_finger import SoftFinger, SoftJoint, SoftLink
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_statics import equilibrium
from softgrasp.twin.finger_pieces import tip_error
from softgrasp.twin.piecewise_bending import FitReport, angles_at, fit_pressures
from softgrasp.twin.point_picking import (
    DEPTH_NOISE,
    PICK_NOISE,
    WINDOW,
    PickMeasurement,
    Picks,
    find_marks,
    in_order,
    measure_picks,
    picked_angles,
)
from softgrasp.twin.synthetic_rgbd import MARKS, RgbdTestRig, SeenMarks
from softgrasp.vision.image import Image

Seen = tuple[PickMeasurement, Image | None]
Noise = tuple[float, float]

LENGTHS = (0.014, 0.014, 0.01232, 0.01539)
"""Arcs of the pieces, base first (Xiang et al. 2024, III-C) [m]."""
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
LOWEST, HIGHEST = -90e3, 120e3
"""Range of pressures in Xiang et al. (2024) [Pa]."""
STEP = 5e3
"""Step of the pressures; 5 kPa gives 43 samples [Pa]."""
PAPER = {-90e3: 0.023, 50e3: 0.008, 100e3: 0.015, 120e3: 0.034}
"""Tip error E by pressure [Pa] (Xiang et al. 2024, Table I), of a real finger and motion capture
[–]."""
LIMIT = 0.04
"""Tip error that Xiang et al. (2024) state as an upper bound [–]."""
Protocol = Literal["edges", "chords"]
"""Pick both edges of each cut, or one point on the middle line."""
ProgressCallback = Callable[[str, float | None], None]


class ReferenceFinger(NamedTuple):
    """Simulated reference finger: a chain of links, and the pieces that the model has as arcs."""

    finger: SoftFinger
    lengths: tuple[float, ...]
    """Lengths of the pieces, base first [m]."""

    @property
    def stations(self) -> Array:
        """Positions of the cuts along the straight finger, base and tip included [m], (n + 1,)."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)])


class ReferenceShape(NamedTuple):
    """The reference finger in equilibrium, in its base frame: straight along +x, z up."""

    joint_angles: Array
    """Joint angles, positive towards −z [rad], (m,)."""
    piece_angles: Array
    """True bending angle of each piece [rad], (n,)."""
    tip: Array
    """Position of the tip [m], (3,)."""


def reference_finger(joints: int = JOINTS, lengths: ArrayLike = LENGTHS) -> ReferenceFinger:
    """Make the reference finger, clamped level; its numbers are chosen, not measured.

    Args:
        joints: Joints per piece, in the middle of equal cells; the study needs at least 32
            links, which are 8 joints in each of four pieces.
        lengths: Lengths of the pieces, base first [m].

    Raises:
        DescriptionError: The number of pieces differs from that of the gains.
    """
    pieces = tuple(np.asarray(lengths, dtype=float).tolist())
    if len(pieces) != len(GAINS):
        raise DescriptionError(f"expected {len(GAINS)} pieces, found {len(pieces)}")
    bends = _joints(joints, pieces)
    finger = SoftFinger(
        name="twin_reference",
        joints=tuple(bends),
        links=_links(bends, sum(pieces)),
        tip=(sum(pieces), 0.0, 0.0),
        source="softgrasp: chosen numbers, simulated; no real finger",
    )
    return ReferenceFinger(finger, pieces)


def _joints(count: int, pieces: tuple[float, ...]) -> list[SoftJoint]:
    """Make joints in the middle of equal cells of each piece."""
    fractions = (np.arange(count) + 0.5) / count
    springs, start = _stiffness(fractions).tolist(), 0.0
    bends = []
    for length, gain in zip(pieces, GAINS, strict=True):
        cell = length / count
        bends += [
            SoftJoint(
                position=(start + fraction * length, 0.0, 0.0),
                stiffness=stiffness / cell,
                pressure_gain=gain,
            )
            for fraction, stiffness in zip(fractions.tolist(), springs, strict=True)
        ]
        start += length
    return bends


def _stiffness(fractions: Array) -> Array:
    """Return EI along a piece, soft in its chambers and stiff between them [N·m²]."""
    chambers = 1.0 - CONTRAST * np.cos(2.0 * np.pi * CHAMBERS * fractions)
    return np.asarray(STIFFNESS * chambers * (1.0 + DRIFT * (0.5 - fractions)))


def _links(bends: list[SoftJoint], whole: float) -> tuple[SoftLink, ...]:
    """Make links from joint to joint, with their parts of the mass."""
    bounds = [0.0, *(joint.position[0] for joint in bends), whole]
    return tuple(
        SoftLink(
            center=(0.5 * (begin + end), 0.0, 0.0),
            mass=MASS * (end - begin) / whole,
            size=(end - begin, *SECTION),
        )
        for begin, end in pairwise(bounds)
    )


def driving_pressure(pressure: float) -> float:
    """Convert a pressure to that with which a linear finger has the same angles [Pa].

    p_s (exp(p/p_s) − 1), with the saturation p_s.
    """
    return SATURATION * float(np.expm1(pressure / SATURATION))


def shape_at(reference: ReferenceFinger, pressure: float) -> ReferenceShape:
    """Compute the equilibrium under weight and a pressure [Pa], with MuJoCo's joint forces.

    Raises:
        DescriptionError: The equilibrium did not converge.
    """
    driving = driving_pressure(pressure)
    rest = equilibrium(reference.finger, pressure=driving, error_estimate=False)
    if not rest.converged:
        raise DescriptionError(
            f"expected an equilibrium of the reference finger at {pressure / 1e3:g} kPa, found none"
        )
    positions = [joint.position[0] for joint in reference.finger.joints]
    owners = np.searchsorted(reference.stations[1:-1], positions)
    angles = np.bincount(owners, weights=rest.joint_angles, minlength=len(reference.lengths))
    return ReferenceShape(rest.joint_angles, np.asarray(angles, float), rest.tip_position)


# Study


@dataclass(frozen=True, eq=False)
class Sample:
    """Simulated finger at one pressure, and the points picked in its image."""

    pressure: float
    """Pressure [Pa]."""
    shape: ReferenceShape
    measured: PickMeasurement
    image: Image | None
    """RGB image, (height, width, 3); None where marks were projected and no image was rendered."""


@dataclass(frozen=True, eq=False)
class AccuracyStudy:
    """Samples, fit and model tips of an accuracy study; m samples, n pieces."""

    reference: ReferenceFinger
    samples: tuple[Sample, ...]
    report: FitReport
    protocol: Protocol
    seed: int

    @property
    def pressures(self) -> Array:
        """Pressures [Pa], (m,)."""
        return np.array([sample.pressure for sample in self.samples])

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
        return tip_error(self.model_tips, self.true_tips, self.reference.lengths)

    def model_shape(self, pressure: float, points: int = 1) -> Array:
        """Return the model's axis at a pressure [Pa], (n · points + 1, 3) [m].

        Raises:
            DescriptionError: The pressure is outside the measured range.
        """
        angles = angles_at(self.report.fit, pressure)
        return constant_curvature_axis(angles, self.reference.lengths, points)


def protocol_pressures(step: float = STEP) -> Array:
    """Return the pressures of the samples, including those of the paper's table [Pa], (m,)."""
    even = np.arange(LOWEST, HIGHEST + 1.0, step)
    return np.union1d(even, list(PAPER))


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
    """Render the finger, pick points, fit the model and compare tips at all pressures.

    Args:
        pressures: Pressures at which the finger is photographed [Pa], (m,); default:
            ``protocol_pressures``.
        protocol: How cuts are picked.
        image_pressures: Pressures at which an image is rendered and marks are detected in it,
            None for all; elsewhere the marks are projected, which differs by at most 0.2 pixels.
        pick_noise: Standard deviation added to every pick in column and in row [pixels].
        depth_noise: Standard deviation added to the depth of every pixel [m].
        seed: Seed of the noise.
        reference: Finger; default: the shipped reference finger.
        progress: Called with a description and the completed fraction, 0 to 1.

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
        measured, image = (_rendered if drawn else _projected)(
            test_rig, shape, protocol, noise, rng
        )
        samples.append(Sample(pressure, shape, measured, image))
    report = fit_pressures(
        requested,
        [sample.measured.angles for sample in samples],
        finger.lengths,
        name="twin_reference",
        source="softgrasp: simulated finger, synthetic images",
    )
    return AccuracyStudy(finger, tuple(samples), report, protocol, seed)


def _rendered(
    test_rig: RgbdTestRig,
    shape: ReferenceShape,
    protocol: Protocol,
    noise: Noise,
    rng: np.random.Generator,
) -> Seen:
    """Render the image, detect the marks in it, and add noise to the picked points."""
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


def _noisy(
    rows: dict[str, Array], protocol: Protocol, noise: float, rng: np.random.Generator
) -> Picks:
    if protocol == "edges":
        cuts = np.stack([rows["upper"], rows["lower"]], axis=1)
    else:
        cuts = rows["middle"]
    line = rows["line"]
    return Picks(cuts + rng.normal(0.0, noise, cuts.shape), line + rng.normal(0.0, noise, (2, 2)))


def _projected(
    test_rig: RgbdTestRig,
    shape: ReferenceShape,
    protocol: Protocol,
    noise: Noise,
    rng: np.random.Generator,
) -> Seen:
    """Project the marks without an image, and add noise."""
    seen: SeenMarks = test_rig.marks(shape.joint_angles)
    picks = _noisy(seen.pixels, protocol, noise[0], rng)
    # standard deviation of the median over a window
    left = noise[1] * np.sqrt(0.5 * np.pi) / (2 * WINDOW + 1)
    rows = ("upper", "lower") if protocol == "edges" else ("middle",)
    depths = np.stack([seen.depths[row] for row in rows], axis=1)
    picks = picks._replace(depths=(depths + rng.normal(0.0, left, depths.shape)).ravel())
    joint_angles = picked_angles(test_rig.camera, picks, pick_noise=noise[0], depth_noise=left)
    return PickMeasurement(picks, joint_angles.angles, joint_angles.sigmas), None


def constant_curvature_axis(angles: ArrayLike, lengths: ArrayLike, points: int = 1) -> Array:
    """Return the axis of bent pieces in the frame of soft fingers, (n · points + 1, 3) [m].

    Args:
        angles: Bending angles, positive towards −z [rad], (n,).
        lengths: Lengths of the pieces [m], (n,).
        points: Points per piece.
    """
    arcs, bends = np.asarray(lengths, dtype=float), np.asarray(angles, dtype=float)
    parts = np.repeat(arcs, points) / points
    frames = chain_frames(np.repeat(bends / arcs, points), np.zeros(len(parts)), parts)
    # a segment is straight along +z and bends towards +x
    return np.asarray(frames[:, :3, 3] @ [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
