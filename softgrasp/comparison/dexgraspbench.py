"""Metrics of DexGraspBench for grasps of a hand: six forces, penetration, contact, diversity.

The protocol is that of Chen et al. (BODex, ICRA 2025): an object of 0.1 kg without gravity,
friction 0.6 and torsional friction 0.02 m; the hand goes from the posture before the grasp into the
grasp and on to the squeezing one, then a force of 10 m/s² times the mass acts for 2 s along ± x, y
and z of the object's file, each from the start again. A grasp succeeds if the object moves less
than 50 mm and rotates less than 15° under all six. Contacts, time step and solver are theirs,
without the contact model of this package. The base of the hand does not move here; there a weld
holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.scene import GraspScene
from softgrasp.grasp_synthesis.posture_search import SynthesizedPosture
from softgrasp.io.files import write_text
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.retreat import HandRetreat

MASS, ACCELERATION = 0.1, 10.0
"""Mass of the object [kg] and force over mass [m/s²]."""
FRICTION = (0.6, 0.6, 0.02, 1e-4, 1e-4)
"""Sliding [–], torsional [m] and rolling friction [m]."""
TIMESTEP = 0.004
"""[s]"""
STEPS, SUBSTEPS = 10, 10
"""Steps of the path between two postures, and physics steps of each."""
LOAD_STEPS, LOAD_SUBSTEPS = 10, 50
"""The same under a force."""
MAX_DISPLACEMENT, MAX_ROTATION = 0.05, np.deg2rad(15.0)
"""Limits of success [m, rad]."""
MAX_START_DEPTH = 0.01
"""Penetration at the start above which a grasp fails [m]."""
MARGIN, TOUCHING = 0.01, 0.002
"""Largest distance that counts, and that of a link in contact [m]."""
HAND_SOLVER = ((0.005, 1.0), (0.5, 0.99, 1e-4, 0.5, 2.0))
"""``solref`` and ``solimp`` of geoms of the hand."""
MIXED_SOLVER = ((0.0125, 1.0), (0.7, 0.97, 5.5e-4, 0.5, 2.0))
"""Those of contacts with the object: means of the hand's and MuJoCo's defaults."""
DIRECTIONS = np.concatenate([-np.eye(3), np.eye(3)])
AXES = 5
"""Number of principal axes whose variance is stated."""


class BenchmarkRow(NamedTuple):
    """Metrics of one grasp."""

    success: bool
    displacement: float
    """Largest displacement of the object under the forces that were applied [m]."""
    rotation: float
    """Largest rotation [rad]."""
    penetration: float
    """Largest penetration of hand and object in the grasp [m]."""
    self_penetration: float
    """Largest penetration of links of the hand in each other [m]."""
    contacts: int
    """Links within 2 mm of the object."""
    contact_distance: float
    """Mean distance of the fingers from the object, at most 10 mm each [m]."""
    contact_consistency: float
    """Largest less smallest of these distances, negative inside [m]."""


class GraspBenchmark:
    """DexGraspBench's metrics for grasps of one hand at one object."""

    def __init__(self, scene: GraspScene) -> None:
        """Build the model of hand and object; nothing else of the scene is used.

        Raises:
            BuildError: The hand, or the object, cannot be built.
        """
        weighed = scene.replace(object=scene.object.weighing(mass=MASS), preshape=None)
        self._retreat = HandRetreat(weighed)
        self._fingers = _fingers(weighed, self._retreat.built.bodies)
        model = self._retreat.model
        self._object = int(model.body(names.OBJECT).id)
        self._bench = _protocol_model(self._retreat)
        self._data = mujoco.MjData(self._bench)

    def evaluate(self, posture: SynthesizedPosture) -> BenchmarkRow:
        """Compute the metrics of a grasp."""
        success, displacement, rotation = self._forces(posture)
        self._retreat.pose_at(posture.pose, posture.targets)
        model, data = self._retreat.model, self._retreat.data
        nearest: dict[int, float] = {}
        for hand, other in self._retreat.near(MARGIN):
            distance = mujoco.mj_geomDistance(model, data, hand, other, MARGIN, None)
            body = int(model.geom_bodyid[hand])
            nearest[body] = min(distance, nearest.get(body, MARGIN))
        fingers = np.array([min(nearest.get(b, MARGIN) for b in f) for f in self._fingers])
        return BenchmarkRow(
            success,
            displacement,
            rotation,
            max([0.0, *(-distance for distance in nearest.values())]),
            self._self_penetration(),
            sum(abs(distance) < TOUCHING for distance in nearest.values()),
            float(np.maximum(fingers, 0.0).mean()),
            float(np.ptp(fingers)),
        )

    def _self_penetration(self) -> float:
        model, data = self._retreat.model, self._retreat.data
        mujoco.mj_fwdPosition(model, data)
        itself = (model.geom_bodyid[data.contact.geom] != self._object).all(axis=1)
        return float(np.maximum(-data.contact.dist[itself], 0.0).max(initial=0.0))

    def _forces(self, posture: SynthesizedPosture) -> tuple[bool, float, float]:
        """Apply the six forces; return success, largest displacement [m] and rotation [rad]."""
        self._retreat.pose_at(posture.pose, posture.start)
        start = self._retreat.data.qpos.copy()
        mujoco.mj_resetData(self._bench, self._data)
        self._data.qpos[:] = start
        mujoco.mj_forward(self._bench, self._data)
        if len(self._data.contact.dist) and self._data.contact.dist.min() < -MAX_START_DEPTH:
            return False, np.inf, np.inf
        moved, rotated = 0.0, 0.0
        for direction in DIRECTIONS:
            displacement, rotation = self._force(posture, start, direction)
            moved, rotated = max(moved, displacement), max(rotated, rotation)
            if displacement >= MAX_DISPLACEMENT or rotation >= MAX_ROTATION:
                return False, moved, rotated
        return True, moved, rotated

    def _force(
        self, posture: SynthesizedPosture, start: Array, direction: Array
    ) -> tuple[float, float]:
        """Grasp the object and apply one force; return displacement [m] and rotation [rad]."""
        model, data = self._bench, self._data
        mujoco.mj_resetData(model, data)
        data.qpos[:] = start
        data.ctrl[:] = posture.start
        mujoco.mj_forward(model, data)
        position, orientation = data.xpos[self._object].copy(), data.xmat[self._object].copy()
        for first, second in ((posture.start, posture.targets), (posture.targets, posture.squeeze)):
            for step in range(1, STEPS + 1):
                data.ctrl[:] = first + (second - first) * step / STEPS
                mujoco.mj_step(model, data, SUBSTEPS)
        # the hand stands at the world frame here: the object's axes are those of the pose
        along = posture.pose[:3, :3] @ direction
        data.xfrc_applied[self._object, :3] = MASS * ACCELERATION * along
        displacement, rotation = 0.0, 0.0
        for _ in range(LOAD_STEPS):
            mujoco.mj_step(model, data, LOAD_SUBSTEPS)
            displacement = float(np.linalg.norm(data.xpos[self._object] - position))
            cosine = 0.5 * (data.xmat[self._object] @ orientation - 1.0)
            rotation = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
            if not displacement < MAX_DISPLACEMENT or rotation >= MAX_ROTATION:
                break
        return displacement, rotation


def benchmark_grasps(
    scene: GraspScene, postures: Sequence[SynthesizedPosture | None]
) -> dict[int, BenchmarkRow]:
    """Compute the metrics of grasps, by their indices; those without a posture are left out.

    Raises:
        BuildError: The hand, or the object, cannot be built.
    """
    benchmark, known = GraspBenchmark(scene), enumerate(postures)
    return {index: benchmark.evaluate(posture) for index, posture in known if posture is not None}


def benchmark_means(
    rows: Mapping[int, BenchmarkRow], postures: Sequence[SynthesizedPosture | None]
) -> dict[str, float]:
    """Compute the success rate, the means of the other metrics, and the diversity."""
    if not rows:
        return {"grasps": 0.0}
    means = {"grasps": float(len(rows))}
    for name in BenchmarkRow._fields:
        if name not in ("displacement", "rotation"):
            means[name] = float(np.mean([getattr(row, name) for row in rows.values()]))
    chosen = [posture for index in rows if (posture := postures[index]) is not None]
    if len(chosen) > 1:
        means["diversity"] = float(diversity(chosen)[0])
    return means


def benchmark_summary(means: Mapping[str, float]) -> str:
    """Return the means of ``benchmark_means`` as a sentence."""
    if not means["grasps"]:
        return "no grasp with a posture of its own"
    text = (
        f"{round(means['success'] * means['grasps'])} of {means['grasps']:.0f} succeed under six "
        f"forces (DexGraspBench); mean penetration {1e3 * means['penetration']:.2f} mm, of the "
        f"hand in itself {1e3 * means['self_penetration']:.2f} mm, contact distance "
        f"{1e3 * means['contact_distance']:.2f} mm, {means['contacts']:.1f} links touch"
    )
    if "diversity" in means:
        text += f"; first principal axis {means['diversity']:.0%} of the variance"
    return text


def write_rows(rows: Mapping[int, BenchmarkRow], path: Path) -> None:
    """Write metrics as CSV, one row per grasp.

    Raises:
        ResultError: The file cannot be written.
    """
    lines = [",".join(("row", *BenchmarkRow._fields))]
    lines += [",".join(map(str, (index, *row))) for index, row in rows.items()]
    write_text(path, "\n".join(lines) + "\n")


def diversity(postures: Sequence[SynthesizedPosture]) -> Array:
    """Compute the variance that the first principal axes of grasps explain, cumulated, (5,) [–].

    Grasps are vectors of the hand's position [m], its rotation vector and its targets, in the
    object's frame. Lower numbers are more diverse.

    Args:
        postures: At least two grasps of one hand.
    """
    hands = np.linalg.inv(np.array([posture.pose for posture in postures]))
    rotations = Rotation.from_matrix(hands[:, :3, :3]).as_rotvec()
    targets = np.array([posture.targets for posture in postures])
    vectors = np.concatenate([hands[:, :3, 3], rotations, targets], axis=1)
    variance = np.square(np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False))
    cumulated = np.cumsum(variance) / max(float(variance.sum()), 1e-300)
    return np.concatenate([cumulated, np.ones(AXES)])[:AXES]


def _fingers(scene: GraspScene, bodies: Sequence[str]) -> list[set[int]]:
    """Return the bodies of each finger, by index of the body in the model."""
    model = HandRetreat(scene).model
    prefix = "" if scene.hand.model is None else scene.hand.model.prefix
    fingers = []
    for finger in scene.hand.fingers:
        finger_bodies = {finger.body_of(row) for row in finger.phalanges}
        finger_bodies |= {prefix + name for name in finger_bodies}
        members = {int(model.body(name).id) for name in bodies if name in finger_bodies}
        if members:
            fingers.append(members)
    return fingers


def _protocol_model(retreat: HandRetreat) -> mujoco.MjModel:
    """Compile hand and object with the contacts, time step and solver of the benchmark."""
    spec = retreat.built.spec.copy()
    option = spec.option
    option.timestep, option.gravity = TIMESTEP, [0.0, 0.0, 0.0]
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
    option.noslip_iterations = 2
    for pair in spec.pairs:
        first, second = (spec.geom(name).parent.name for name in (pair.geomname1, pair.geomname2))
        mixed = names.OBJECT in (first, second)
        solref, solimp = MIXED_SOLVER if mixed else HAND_SOLVER
        pair.solref, pair.solimp, pair.friction = solref, solimp, FRICTION
        pair.condim, pair.margin, pair.gap = 4, 0.0, 0.0
        pair.solreffriction = (0.0, 0.0)  # as in the normal direction
    return spec.compile()
