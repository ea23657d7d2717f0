"""Synthesized grasp postures as candidates of the planner, and their short trial.

A trial is one closure and six pushes with MuJoCo's contacts. It costs some hundredths of a
CPU-second, a tenth of a simulated grasp, and separates most postures that hold the object from
those that let it go. It has neither gravity nor a table, and neither the contact model nor the
closure law of this package: the actuators go from the opened hand through the posture to the
squeezing targets, and every push starts from the state after that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.hand import Preshape
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import GraspPlan, PoseSampling
from softgrasp.errors import ResultError
from softgrasp.grasp_synthesis.grasp_energy import GraspEnergy
from softgrasp.grasp_synthesis.grasp_seeds import GraspingHand
from softgrasp.grasp_synthesis.object_surface import fill
from softgrasp.grasp_synthesis.posture_search import (
    BATCH,
    PostureSearch,
    SynthesizedPosture,
    distinct,
)
from softgrasp.io.files import write_text
from softgrasp.io.input_limits import read_json
from softgrasp.io.load import input_hashes, list_described_files
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model import names
from softgrasp.model.arm import toward_grasp
from softgrasp.model.grasp_geometry import (
    coarse,
    contact_links,
    kinematic_tree_of,
    link_spheres,
    object_surface_of,
)
from softgrasp.model.object import object_pose, on_its_table
from softgrasp.model.retreat import ContactFit, HandRetreat

TIMESTEP = 0.004
"""[s]"""
CLOSING, SQUEEZING, RESTING, PUSHING = 40, 40, 25, 60
"""Steps of the parts of a trial; the last is that of each push."""
ACCELERATION = 10.0
"""Force of a push over the mass of the object [m/s²]."""
FRICTION = 0.8
"""Coefficient of friction of the trial over that of the scene [–]: a margin for closures,
which press less evenly than the squeezing targets."""
TORSION = 0.005
"""Torsional friction [m]."""
SOLREF, SOLIMP = (0.01, 1.0), (0.9, 0.95, 1e-3, 0.5, 2.0)
"""MuJoCo's ``solref`` and ``solimp`` of all contacts."""
IMPRATIO = 10.0
"""Impedance of friction over that of normal forces [–]."""
LOST = 0.01
"""Motion of the object in a push after which no other push follows [m]."""
MAX_MOTION = 5e-4
"""Largest motion of a held object in a push, rotation included [m]. The penetration of its contacts
alone, which does not depend on the mass, is a third of it."""
MAX_START_DEPTH = 3e-3
"""Largest penetration of the opened hand in the object, and of its links in each other [m]."""
MAX_CLOSING_DISPLACEMENT, MAX_CLOSING_ROTATION = 0.03, 0.2
"""Largest motion of the object while the hand closes [m, rad]."""
ARM = 0.05
"""Length that makes rotations comparable with displacements [m]."""
DIRECTIONS = np.concatenate([np.eye(3), -np.eye(3)])
"""Directions of the pushes in the object's frame."""


class TrialOutcome(NamedTuple):
    """Motion of the object in a trial."""

    held: bool
    """Whether the opened hand was clear, and closing and pushes moved the object little."""
    closing_displacement: float
    """While the hand closed [m]; ∞ where it was not clear."""
    closing_rotation: float
    """Rotation of the object while the hand closes [rad]."""
    push_displacement: float
    """Largest of the pushes [m]; ∞ where none was applied."""
    push_rotation: float
    """Rotation in a push [rad]."""

    @property
    def motion(self) -> float:
        """Motion of the object in closing and in the largest push, rotation included [m].

        Grasps in which the object moves little hold best.
        """
        displacement = self.closing_displacement + self.push_displacement
        return displacement + ARM * (self.closing_rotation + self.push_rotation)


class PostureTrial:
    """Trials of postures of one hand at one object."""

    def __init__(self, retreat: HandRetreat, friction: float) -> None:
        """Compile the model.

        Args:
            retreat: Model of hand and object; its state is overwritten by trials.
            friction: Coefficient of friction of the scene [–].
        """
        self._retreat = retreat
        spec = retreat.built.spec.copy()
        option = spec.option
        option.timestep, option.gravity = TIMESTEP, [0.0, 0.0, 0.0]
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, IMPRATIO
        option.noslip_iterations = 0
        for pair in spec.pairs:
            pair.solref, pair.solimp, pair.solreffriction = SOLREF, SOLIMP, (0.0, 0.0)
            pair.friction = (FRICTION * friction, FRICTION * friction, TORSION, 1e-4, 1e-4)
            pair.condim, pair.margin, pair.gap = 4, 0.0, 0.0
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._object = int(self._model.body(names.OBJECT).id)

    def run(self, posture: SynthesizedPosture) -> TrialOutcome:
        """Close the hand in a posture and push the object.

        Args:
            posture: The posture.
        """
        model, data = self._model, self._data
        self._retreat.pose_at(posture.pose, posture.start)
        mujoco.mj_resetData(model, data)
        data.qpos[:] = self._retreat.data.qpos
        mujoco.mj_forward(model, data)
        if data.ncon and data.contact.dist.min() < -MAX_START_DEPTH:
            return TrialOutcome(False, np.inf, np.inf, np.inf, np.inf)
        start = self._object_pose()
        self._move(posture.start, posture.targets, CLOSING)
        self._move(posture.targets, posture.squeeze, SQUEEZING)
        mujoco.mj_step(model, data, RESTING)
        displacement, rotation = _motion(start, self._object_pose())
        if displacement >= MAX_CLOSING_DISPLACEMENT or rotation >= MAX_CLOSING_ROTATION:
            return TrialOutcome(False, displacement, rotation, np.inf, np.inf)
        pushed, rolled = self._pushes(start[1])
        held = pushed + ARM * rolled < MAX_MOTION
        return TrialOutcome(held, displacement, rotation, pushed, rolled)

    def _move(self, first: Array, second: Array, steps: int) -> None:
        """Move the targets from one posture to another."""
        for step in range(1, steps + 1):
            self._data.ctrl[:] = first + (second - first) * step / steps
            mujoco.mj_step(self._model, self._data)

    def _pushes(self, axes: Array) -> tuple[float, float]:
        """Push along axes (3, 3) of the object from one state; return the largest motions."""
        model, data = self._model, self._data
        closed = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(model, data, closed, mujoco.mjtState.mjSTATE_INTEGRATION)
        before = self._object_pose()
        displacement, rotation = 0.0, 0.0
        for direction in DIRECTIONS:
            mujoco.mj_setState(model, data, closed, mujoco.mjtState.mjSTATE_INTEGRATION)
            force = ACCELERATION * float(model.body_mass[self._object])
            data.xfrc_applied[self._object, :3] = force * axes @ direction
            mujoco.mj_step(model, data, PUSHING)
            moved, angle = _motion(before, self._object_pose())
            displacement, rotation = max(displacement, moved), max(rotation, angle)
            if displacement + ARM * rotation >= LOST:
                break
        return displacement, rotation

    def _object_pose(self) -> tuple[Array, Array]:
        """Return position (3,) [m] and axes (3, 3) of the object."""
        data = self._data
        return data.xpos[self._object].copy(), data.xmat[self._object].reshape(3, 3).copy()


def _motion(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[float, float]:
    """Compute the displacement [m] and the rotation [rad] between two poses."""
    cosine = 0.5 * (float((first[1] * second[1]).sum()) - 1.0)
    displacement = float(np.linalg.norm(second[0] - first[0]))
    return displacement, float(np.arccos(np.clip(cosine, -1.0, 1.0)))


FRICTION_MARGIN = 0.6
"""Friction coefficient of the energy over the true one [–]."""
MAX_FRICTION = 0.5
"""Largest friction coefficient of the energy [–]."""
POINT_SEED = 0
"""Seed of the points on the hand."""
ALONG = np.array([0.0, 0.2, 0.4])
"""Fractions of the closing motion at which inner sides are found [–]."""
OPENINGS = (0.0, 0.15, 0.3, 0.5, 0.75)
"""Openings beyond the start of a given grasp that are tried until the hand is clear of the object,
over the ranges of its actuators [–]."""
POSTURES = "postures.json"
"""Name of the file with the synthesized postures of a search."""
GRIP, GRAVITY = 12.0, 9.81
"""Sum of the normal forces of a squeezing hand over the weight [–], and acceleration [m/s²]."""
SEEDS = 6
"""Largest number of start postures for each grasp that is simulated, by default."""
ROUND, SEEDS_OF_MISSING = 32, 3
"""Smallest number of start postures of a round, and number for each grasp that is missing."""
TIPS_ONLY = {"power": 0.3, "precision": 1.0}
"""Fraction of grasps with fingertips only by type of grasp [–]."""


class PlacedPosture(NamedTuple):
    """A synthesized posture whose opened hand is clear of the object."""

    posture: SynthesizedPosture
    pulled_back: float
    """Distance that the hand was pulled back along its approach [m]."""
    pose: Array
    """Of the object in the pulled-back hand, ``T_hand_object``, (4, 4)."""
    trial: TrialOutcome | None = None
    """Outcome of its trial; None without one."""


def arrange_postures(plan: GraspPlan) -> list[PlacedPosture]:
    """Synthesize the postures of a plan, at most ``plan.candidates``.

    With ``plan.trial`` seeds descend in rounds until enough postures have held the object in the
    trial, or ``plan.seeds`` are used; these come first, those that moved the object least at the
    top. The others follow by their scores.

    Raises:
        BuildError: The hand, or the object, cannot be built.
    """
    scene = plan.scene.replace(preshape=None)
    retreat = HandRetreat(scene)
    search = posture_search_of(scene, retreat, plan.poses)
    random = np.random.default_rng(plan.seed)
    seeds = SEEDS * plan.candidates if plan.seeds is None else plan.seeds
    tips_only = TIPS_ONLY[scene.grasp]
    if not plan.trial:
        postures = search.postures(random, plan.candidates, seeds, tips_only)
        return _arrange(retreat, postures, plan.poses.gap)
    trial = PostureTrial(retreat, scene.grip_friction)
    tried: list[PlacedPosture] = []
    while seeds > 0 and (missing := plan.candidates - _held(tried)) > 0:
        size = min(max(SEEDS_OF_MISSING * missing, ROUND), BATCH, seeds)
        seeds -= size
        postures = search.rated_postures(random, size, tips_only)
        placed = _arrange(retreat, postures, plan.poses.gap)
        tried += [item._replace(trial=trial.run(item.posture)) for item in placed]
    return _rank(tried)[: plan.candidates]


def _held(tried: Sequence[PlacedPosture]) -> int:
    """Return the number of different postures that held the object in the trial."""
    held = [item.posture.pose for item in tried if item.trial and item.trial.held]
    return len(distinct(held))


def _rank(tried: Sequence[PlacedPosture]) -> list[PlacedPosture]:
    """Sort postures by the outcome of the trial, those close to a better one last of theirs."""
    held = [trial for trial in tried if trial.trial and trial.trial.held]
    lost = [trial for trial in tried if not (trial.trial and trial.trial.held)]
    held.sort(key=lambda element: element.trial.motion if element.trial else np.inf)
    lost.sort(key=lambda element: -element.posture.score)
    ranked = []
    for group in (held, lost):
        first = distinct([item.posture.pose for item in group])
        similar = sorted(set(range(len(group))) - set(first))
        ranked += [group[index] for index in first + similar]
    return ranked


def arrange_grasps(plan: GraspPlan, postures: Sequence[SynthesizedPosture]) -> list[PlacedPosture]:
    """Open hands further, or pull them back, that would penetrate the object at the start.

    A hand is pulled back only where no opening is enough; all postures stay.

    Raises:
        BuildError: The hand, or the object, cannot be built.
    """
    scene = plan.scene.replace(preshape=None)
    retreat = HandRetreat(scene)
    limits = np.array([actuator.limits for actuator in scene.hand.actuators])
    closing = np.sign(scene.preset.rates.for_fingers(scene.hand.actuator_counts))
    openings = -np.ptp(limits, axis=1) * closing
    placed = []
    for posture in postures:
        opened = [
            posture._replace(start=np.clip(posture.start + fraction * openings, *limits.T))
            for fraction in OPENINGS
        ]
        clear = (item for item in opened if _is_clear(retreat, item, plan.poses.gap))
        chosen = next(clear, posture)
        element = _arrange(retreat, [chosen], plan.poses.gap)
        placed += element or [PlacedPosture(chosen, 0.0, chosen.pose)]
    return placed


def _is_clear(retreat: HandRetreat, posture: SynthesizedPosture, gap: float) -> bool:
    """Whether a hand in its start posture has the required gap to the object."""
    retreat.open_to(posture.start)
    return retreat.distance(posture.pose, gap) == 0.0


def _arrange(
    retreat: HandRetreat, postures: Sequence[SynthesizedPosture], gap: float
) -> list[PlacedPosture]:
    """Pull hands back that would penetrate the object; those that stay in it are left out."""
    placed = []
    for posture in postures:
        retreat.open_to(posture.start)
        distance = retreat.distance(posture.pose, gap)
        if distance is not None:
            pose = posture.pose.copy()
            pose[:3, 3] += distance * retreat.approach
            placed.append(PlacedPosture(posture, distance, pose))
    return placed


def keep_postures(plan: GraspPlan, directory: Path | None) -> list[PlacedPosture]:
    """Return the postures of a plan from its directory, or synthesize and keep them there.

    Args:
        plan: The plan.
        directory: Directory of the plan; None to keep nothing.

    Raises:
        BuildError: The hand, or the object, cannot be built.
        ResultError: The directory cannot be written, or its file of postures is damaged.
    """
    if directory is None:
        return arrange_postures(plan)
    path, key = directory / POSTURES, _key(plan)
    if path.exists():
        try:
            content = read_json(path)
            if content["plan"] == key:
                return [_from_plain(item) for item in content["postures"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: damaged: {error}") from error
    placed = arrange_postures(plan)
    directory.mkdir(parents=True, exist_ok=True)
    plain = [_plain(item) for item in placed]
    write_text(path, json.dumps({"plan": key, "postures": plain}) + "\n")
    return placed


def _key(plan: GraspPlan) -> str:
    """Return a hash of what the postures of a plan depend on, with the files that it names."""
    content = plan.model_dump_json(
        include={"scene", "candidates", "poses", "seed", "seeds", "trial"}
    )
    files = input_hashes(list_described_files(plan.scene))
    return hashlib.sha256(f"{content}{[*files.values()]}".encode()).hexdigest()


def _plain(placed: PlacedPosture) -> dict[str, Any]:
    fields = placed.posture._asdict() | {
        "pulled_back": placed.pulled_back, "placed": placed.pose, "trial": placed.trial
    }  # fmt: skip
    return {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in fields.items()}


def _from_plain(plain: dict[str, Any]) -> PlacedPosture:
    trial = plain.pop("trial")
    values: dict[str, Any] = {
        n: np.array(v) if isinstance(v, list) else v for n, v in plain.items()
    }
    pulled_back, pose = values.pop("pulled_back"), values.pop("placed")
    outcome = None if trial is None else TrialOutcome(*trial)
    return PlacedPosture(SynthesizedPosture(**values), pulled_back, pose, outcome)


def with_starts(scene: GraspScene, starts: Sequence[Array]) -> GraspScene:
    """Return a scene whose hand has start postures as preshapes, named by ``preshape_name``.

    Args:
        scene: The scene.
        starts: Targets of the opened hands, (nu,) each.
    """
    named = [
        Preshape(name=preshape_name(index), positions=tuple(start.tolist()))
        for index, start in enumerate(starts)
    ]
    hand = scene.hand.replace(preshapes=(*scene.hand.preshapes, *named))
    return scene.replace(hand=hand, preshape=None)


def preshape_name(index: int) -> str:
    """Return the name of the start posture of a synthesized grasp."""
    return f"grasp-{index}"


def posture_search_of(
    scene: GraspScene, retreat: HandRetreat, poses: PoseSampling | None = None
) -> PostureSearch:
    """Set up the synthesis of postures for the hand, the object and the table of a scene.

    Args:
        scene: The scene.
        retreat: Model of its hand and object.
        poses: Directions of the hand, and its gap to the object.

    Raises:
        BuildError: The hand has soft fingers.
    """
    poses, built = poses or PoseSampling(), retreat.built
    random = np.random.default_rng(POINT_SEED)
    tree = kinematic_tree_of(built.model, scene.hand, built.bodies, random)
    surface = object_surface_of(built.model)
    start = np.array(scene.closing_preset.start or [a.start for a in scene.hand.actuators])
    rates = np.array(scene.preset.rates.for_fingers(scene.hand.actuator_counts))
    center = np.array(scene.preset.center)
    approach = toward_grasp(scene.hand, scene.preset.center)
    hand = GraspingHand(tree, (), start, rates, center, approach)
    along = hand.closing(ALONG)
    hand = hand._replace(links=contact_links(tree, along, rates, center))
    friction = scene.grip_friction
    energy = GraspEnergy(
        tree,
        hand.links,
        link_spheres(tree, np.concatenate([along[:2], start[None]])),
        surface,
        friction=min(FRICTION_MARGIN * friction, MAX_FRICTION),
        plane=table_plane(scene),
    )
    fewer = coarse(tree)
    first = replace(
        energy, tree=fewer, links=contact_links(fewer, along, rates, center), surface=fill(surface)
    )
    direction = None
    if poses.cone < np.pi:
        pose = object_pose(scene)
        world = transform(pose.position, pose.quaternion)[:3, :3]
        hand_pose = transform(scene.hand_pose.position, scene.hand_pose.quaternion)[:3, :3]
        direction = (-world.T @ hand_pose @ approach, poses.cone)
    stiffness = np.array(built.model.actuator_gainprm[: len(rates), 0])
    body = built.model.body(names.OBJECT).id
    grip = GRIP * float(built.model.body_mass[body]) * GRAVITY
    fit = ContactFit(retreat, tree, rates, poses.gap)
    return PostureSearch(
        hand, energy, first, scene.hand.actuators, fit.fit, stiffness, grip, direction
    )


def table_plane(scene: GraspScene) -> Array | None:
    """Return the top of the scene's table in the object's frame, (4,); None without a table."""
    scene = on_its_table(scene)
    if scene.table is None or scene.table.height is None:
        return None
    pose = object_pose(scene)
    frame = transform(pose.position, pose.quaternion)
    normal = frame[:3, :3].T @ [0.0, 0.0, 1.0]
    return np.array([*normal, scene.table.height - pose.position[2]])
