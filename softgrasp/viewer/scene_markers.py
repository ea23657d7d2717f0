"""Scene content of the browser viewer: models, posed hands, frames, limits, contacts, cones.

``DrawnModel`` shows a MuJoCo model and updates its body poses, ``GraspMarks`` the contacts of a
result, ``HandMarks`` the joint frames and limits of a hand. ``PosedHand`` computes the pose of a
hand from actuator targets. ``Choices`` are the settings of a grasp that a user selects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.base import Description
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.io.load import load_hand
from softgrasp.io.mjcf.model import triangles_of
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array, quaternion_of
from softgrasp.model import names
from softgrasp.model.compile import compiled
from softgrasp.model.hand import build_hand_spec, settle
from softgrasp.model.visual import CONTACT_RGBA
from softgrasp.pipeline import compile_model
from softgrasp.rendering.camera import (
    SHOWN_GROUPS,
    Camera,
    drawing_copy,
    find_covered_geoms,
    geom_colors,
    geom_corner_points,
    skin_colors,
    solid_geoms,
)
from softgrasp.rendering.keyframes import Playback
from softgrasp.rendering.overlay import Arrow, Ball, Rgba
from softgrasp.rendering.shading import Skin, skins_of
from softgrasp.rendering.viewpoint import best_camera

if TYPE_CHECKING:
    import viser

CONTACTS, FORCES = "/marks/contacts", "/marks/forces"
"""Names of scene nodes."""
FLAT = (mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_CYLINDER)
HEAD = 3.0, 7.0
"""Radius and length of an arrow head in shaft radii."""
COLOR = np.array([round(255 * part) for part in CONTACT_RGBA[:3]], dtype=np.uint8)

CENTER_COLORS = {"power": (46, 125, 80), "precision": (138, 91, 184)}
SAME = 1e-6
"""Frames closer than this share one label [m]."""

CLEAR: Rgba = (0.95, 0.55, 0.15, 0.35)
"""Colour of collision shapes."""

ASPECT = 1.2
"""Aspect ratio of the window without the panel."""

NUMBER_LABELS = {"density": "density / kg/m³", "friction": "friction / –"}
"""Labels of the numeric fields."""


class JointFrame(NamedTuple):
    """Frame moved by a joint, world frame."""

    name: str
    """Name of the joint, or of a point of a soft finger."""
    pose: Array
    """Pose (4, 4) [m], z along the joint axis."""


class Choices(Description):
    """Selected grasp settings; None keeps the value of hand or object."""

    hand: str
    object: str | None = None
    grasp: str | None = None
    density: float | None = None
    """Density of the object [kg/m³]."""
    friction: float | None = None
    """Static and dynamic friction coefficient [–]."""
    closure: str | None = None
    gravity: bool = False
    """Gravity during the closure."""
    hold: bool = True
    """Hold test with increasing gravity after the closure."""
    further_options: str = ""
    """Further options on the command line, such as ``--euler-deg 0 0 45``."""

    @property
    def command(self) -> str:
        """Equivalent command line."""
        words = ["softgrasp grasp", self.hand, self.object or "OBJECT"]
        for name in ("grasp", "density", "friction", "closure"):
            if (value := getattr(self, name)) is not None:
                shown = f"{value:g}" if name in NUMBER_LABELS else value
                words.append(f"--{name} {shown}")
        words += [self.further_options] if self.further_options else []
        words += ["--gravity"] * self.gravity + ["--hold"] * self.hold
        return " ".join(words)


MakeScene = Callable[[Choices], GraspScene]
"""Makes a scene from choices; raises DescriptionError if they are incompatible."""


def choose_hand(choices: Choices, make_scene: MakeScene) -> tuple[PosedHand, GraspScene | None]:
    """Load the selected hand, with the scene of the selected object if there is one.

    Raises:
        SoftgraspError: Unknown hand or object, or an incompatible combination.
    """
    if choices.object is not None:
        scene = make_scene(choices)
        return PosedHand(scene.hand, compile_model(scene)), scene
    hand = load_hand(choices.hand)
    return PosedHand(hand, compiled(build_hand_spec(hand), hand.name)), None


class PosedHand:
    """A hand in a compiled model of it or of a scene, posed by its actuator targets.

    Keyframe 0 of the model is the start.
    """

    def __init__(self, hand: Hand, model: mujoco.MjModel) -> None:
        self.hand, self.model, self.data = hand, model, mujoco.MjData(model)
        self.pose([actuator.start for actuator in hand.actuators])

    def pose(self, targets: Sequence[float]) -> mujoco.MjData:
        """Set the actuators to targets [rad, m or Pa] and compute all dependent joints.

        Coupled joints follow. The joints of a soft finger balance its pressure without gravity:
        angle = moment over stiffness.
        """
        model, data = self.model, self.data
        position = np.array(model.key_qpos[0])
        for name, value in self.hand.posture(targets).items():
            position[model.joint(name).qposadr[0]] = value
        actuators = (actuator.name for actuator in self.hand.actuators)
        pressures = dict(zip(actuators, targets, strict=True))
        for digit in self.hand.soft_fingers:
            forces = actuation_forces(digit.finger, pressure=pressures[digit.as_actuator.name])
            for name, force in zip(names.soft_joint_names(digit), forces.tolist(), strict=True):
                joint = model.joint(name)
                position[joint.qposadr[0]] = force / model.jnt_stiffness[joint.id]
        data.qpos[:] = settle(model, self.hand, position)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        if model.nflex:
            mujoco.mj_flex(model, data)
        return data

    def frames(self) -> list[JointFrame]:
        """Frames of all joints of rigid fingers, then of base and tip of soft fingers.

        Fingers with Denavit–Hartenberg parameters have the DH frames, moved with the joint
        (``mechanics.hand_kinematics.link_frames``). Other hands have their body frames, rotated so
        that z is along the joint axis.
        """
        joint_frames = [self._at_joint(name) for name in self.hand.rows_by_joint]
        for digit in self.hand.soft_fingers:
            base = self._body_pose(names.soft_link(digit.name, 0))
            tip = self._body_pose(names.soft_link(digit.name, len(digit.finger.links) - 1))
            tip[:3, 3] = self.data.site(names.tip_site(digit.name)).xpos
            poses = {"base": base, "tip": tip}
            joint_frames += [JointFrame(f"{digit.name} {end}", at) for end, at in poses.items()]
        return joint_frames

    def hand_pose(self) -> Array:
        """Pose of the hand frame in the world, (4, 4)."""
        return self._body_pose(names.hand_body(self.hand))

    def _at_joint(self, name: str) -> JointFrame:
        joint = self.model.joint(name)
        pose = self._body_pose(int(joint.bodyid[0]))
        axis = np.array(self.data.xaxis[joint.id])
        rotation, _ = Rotation.align_vectors([axis], [pose[:3, 2]])
        if pose[:3, 2] @ axis < 1.0 - 1e-12:
            pose[:3, :3] = rotation.as_matrix() @ pose[:3, :3]
        pose[:3, 3] = self.data.xanchor[joint.id]
        return JointFrame(name, pose)

    def _body_pose(self, body: str | int) -> Array:
        there = self.data.body(body)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = there.xmat.reshape(3, 3), there.xpos
        return pose


def targets_between(hand: Hand, fraction: float) -> list[float]:
    """Actuator targets between open (0) and closed (1) [rad, m or Pa]."""
    return [
        actuator.start + fraction * (end - actuator.start)
        for actuator, end in zip(hand.actuators, find_closed_targets(hand), strict=True)
    ]


def find_closed_targets(hand: Hand) -> list[float]:
    """Final actuator targets of a power grasp without an object."""
    rates = hand.grasps.power.rates.for_fingers(hand.actuator_counts, hand.actuator_word)
    ends = []
    for actuator, rate in zip(hand.actuators, rates, strict=True):
        low, high = actuator.limits
        ends.append(actuator.start if rate == 0.0 else low if rate < 0.0 else high)
    return ends


def list_seen_points(posed: PosedHand) -> Array:
    """Corners of all visible geoms while the hand closes [m], (n, 3); it is open afterwards."""
    model = posed.model
    around = [names.is_around(model.body(int(body)).name) for body in model.geom_bodyid]
    geoms = [geom for geom in find_covered_geoms(model).tolist() if not around[geom]]
    clouds = [
        geom_corner_points(model, posed.pose(targets_between(posed.hand, fraction)), geoms)
        for fraction in (1.0, 0.5, 0.0)
    ]
    return np.concatenate(clouds)


def hand_bodies(posed: PosedHand) -> list[int]:
    """Ids of the visible bodies of the hand."""
    parts = [*names.parts(posed.hand), names.hand_body(posed.hand)]
    return [posed.model.body(part).id for part in parts]


def hand_camera(posed: PosedHand, scene: GraspScene | None) -> Camera:
    """Choose a camera that shows a closing hand; the hand is open afterwards."""
    body_names = [] if scene is None else names.object_bodies(scene)
    objects = [posed.model.body(name).id for name in body_names]
    points = list_seen_points(posed)
    return best_camera(posed.model, [posed.data], points, hand_bodies(posed), objects, ASPECT)


class DrawnModel:
    """A MuJoCo model in the scene of a browser page; geometry is sent once, then only poses.

    ``root`` is the name of its scene node.
    """

    def __init__(self, scene: viser.SceneApi, model: mujoco.MjModel, root: str = "/model") -> None:
        self.model, self._scene, self._root = drawing_copy(model), scene, root
        self._colors = geom_colors(model)
        self._bodies = {
            body: scene.add_frame(f"{root}/{body}", show_axes=False)
            for body in sorted(set(model.geom_bodyid[self._drawn()].tolist()))
        }
        self._geoms = {geom: self._add_geom(geom) for geom in self._drawn()}
        self._skins = [self._add_skin(number, s) for number, s in enumerate(skins_of(model))]
        self._flexes = [self._add_flex(number) for number in range(model.nflex)]
        self.show_collisions(shown=False)

    def pose(self, data: mujoco.MjData) -> None:
        """Update all poses to a state with computed kinematics."""
        for body, frame in self._bodies.items():
            frame.position, frame.wxyz = data.xpos[body], data.xquat[body]
        for skin, handle in self._skins:
            for bone, body in zip(handle.bones, skin.bodies.tolist(), strict=True):
                bone.position, bone.wxyz = data.xpos[body], data.xquat[body]
        for number, flex in enumerate(self._flexes):
            flex.vertices = data.flexvert_xpos[self._nodes(number)].astype(np.float32)

    def paint(self, colors: Mapping[int, Rgba]) -> None:
        """Override the colours of geoms by id and reset all others."""
        for geom, handle in self._geoms.items():
            if self._is_shown(geom):
                rgba = _bytes(colors.get(geom, tuple(self._colors[geom])))
                if tuple(handle.color) != rgba:
                    handle.color = rgba
        skins = skin_colors(self.model, colors)
        for (_, skinned), color in zip(self._skins, skins, strict=True):
            rgba = _bytes(tuple(color))
            if tuple(skinned.color) != rgba:
                skinned.color = rgba

    def fade(self, geoms: Iterable[int], opacity: float) -> None:
        """Set the opacity of geoms, from 1 (opaque) to 0 (invisible)."""
        for geom in set(geoms) & {item for item in self._geoms if self._is_shown(item)}:
            self._geoms[geom].opacity = None if opacity >= 1.0 else opacity

    def show_collisions(self, *, shown: bool) -> None:
        """Show or hide collision shapes."""
        for geom, handle in self._geoms.items():
            if not self._is_shown(geom):
                handle.visible = shown

    def _is_shown(self, geom: int) -> bool:
        return bool(self.model.geom_group[geom] < SHOWN_GROUPS and self._colors[geom, 3] > 0)

    def _drawn(self) -> list[int]:
        """Visible geoms and collision shapes."""
        touching = (self.model.geom_contype > 0) | (self.model.geom_conaffinity > 0)
        solid = self.model.geom_type != int(mujoco.mjtGeom.mjGEOM_PLANE)
        colliding = np.flatnonzero(touching & solid)
        return [*map(int, np.union1d(solid_geoms(self.model), colliding))]

    def _add_geom(self, geom: int) -> viser.MeshHandle:
        vertices, faces = triangles_of(self.model, geom)
        kind = int(self.model.geom_type[geom])
        rgba = tuple(self._colors[geom]) if self._is_shown(geom) else CLEAR
        return self._scene.add_mesh_simple(
            f"{self._root}/{self.model.geom_bodyid[geom]}/{geom}",
            vertices,
            faces,
            color=_bytes(rgba),
            opacity=None if rgba[3] >= 1.0 else float(rgba[3]),
            flat_shading=len(faces) < 900 and kind in FLAT,
            receive_shadow=False,  # shadows are stripes at the scale of a hand
            position=self.model.geom_pos[geom],
            wxyz=self.model.geom_quat[geom],
        )

    def _add_skin(self, number: int, skin: Skin) -> tuple[Skin, viser.MeshSkinnedHandle]:
        handle = self._scene.add_mesh_skinned(
            f"{self._root}/skin{number}",
            skin.vertices,
            skin.faces,
            bone_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (len(skin.bodies), 1)),
            bone_positions=skin.bound,
            skin_weights=skin.weights,
            color=_bytes(tuple(self.model.skin_rgba[number])),
            side="double",
        )
        return skin, handle

    def _add_flex(self, number: int) -> viser.MeshHandle:
        model = self.model
        first, count = int(model.flex_shelldataadr[number]), int(model.flex_shellnum[number])
        size = int(model.flex_dim[number])
        faces = model.flex_shell[first : first + size * count].reshape(count, size)
        nodes = self._nodes(number)
        return self._scene.add_mesh_simple(
            f"{self._root}/flex{number}",
            np.zeros((nodes.stop - nodes.start, 3)),
            faces,
            color=_bytes(tuple(model.flex_rgba[number])),
            side="double",
        )

    def _nodes(self, number: int) -> slice:
        first = int(self.model.flex_vertadr[number])
        return slice(first, first + int(self.model.flex_vertnum[number]))


def _bytes(rgba: tuple[float, ...]) -> tuple[int, int, int]:
    """Red, green and blue from 0 to 255."""
    red, green, blue = (round(255 * float(part)) for part in rgba[:3])
    return (red, green, blue)


class HandMarks:
    """Joint frames and grasp centres of a hand, scaled by its size [m]."""

    def __init__(self, scene: viser.SceneApi, posed: PosedHand, size: float) -> None:
        self._scene, self._posed, self._size = scene, posed, size
        self.frames, self.centers = True, False
        self._labels = {
            name: scene.add_label(f"/labels/{name.replace('/', '_')}", text, anchor="bottom-left")
            for name, text in _texts(posed.frames()).items()
        }

    def draw(self) -> None:
        """Update the marks for the current pose."""
        frames = self._posed.frames()
        self._draw_axes(frames)
        self._draw_centers()

    def _draw_axes(self, frames: Sequence[JointFrame]) -> None:
        for frame in frames:
            if frame.name in self._labels:
                label = self._labels[frame.name]
                label.position, label.visible = frame.pose[:3, 3], self.frames
        if not self.frames:
            self._scene.remove_by_name("/frames")
            return
        length = 0.09 * self._size
        quaternions = np.array([quaternion_of(frame.pose) for frame in frames])
        positions = np.array([frame.pose[:3, 3] for frame in frames])
        if updated(self._scene, "/frames", batched_wxyzs=quaternions, batched_positions=positions):
            return
        self._scene.add_batched_axes(
            "/frames", quaternions, positions, axes_length=length, axes_radius=0.04 * length
        )

    def _draw_centers(self) -> None:
        pose = self._posed.hand_pose()
        for name, preset in self._posed.hand.grasps:
            if not self.centers:
                self._scene.remove_by_name(f"/centers/{name}")
                continue
            center = pose[:3, :3] @ np.array(preset.center) + pose[:3, 3]
            if updated(self._scene, f"/centers/{name}", position=center):
                continue
            color, radius = CENTER_COLORS.get(name, CONTACT_RGBA[:3]), 0.07 * self._size
            self._scene.add_icosphere(
                f"/centers/{name}", radius=radius, color=color, opacity=0.5, position=center
            )
            self._scene.add_label(f"/centers/{name}/label", f"{name} grasp", anchor="center-center")


def _texts(frames: Sequence[JointFrame]) -> dict[str, str]:
    """Make label texts by frame name; coincident frames share one label."""
    labelled: list[tuple[str, Array]] = []
    texts: dict[str, str] = {}
    for frame in frames:
        here = frame.pose[:3, 3]
        near = [name for name, position in labelled if np.linalg.norm(position - here) < SAME]
        if near:
            texts[near[0]] += f", {frame.name}"
        else:
            labelled.append((frame.name, here))
            texts[frame.name] = frame.name
    return texts


class GraspMarks:
    """Contact points and forces of a result, sized for a camera."""

    def __init__(self, scene: viser.SceneApi, playback: Playback, camera: Camera) -> None:
        self._scene, self._playback, self._camera = scene, playback, camera
        self.forces = True

    def pose(self, time: float) -> None:
        """Show the contacts at a time [s]; the playback must be posed at that time."""
        marks = self._playback.marks(time, self._camera)
        self._show_balls([mark for mark in marks if isinstance(mark, Ball)])
        self._show_arrows([mark for mark in marks if isinstance(mark, Arrow)])

    def _show_balls(self, balls: Sequence[Ball]) -> None:
        points = np.array([ball.center for ball in balls]).reshape(-1, 3)
        if balls and updated(self._scene, CONTACTS, points=points):
            return
        self._scene.remove_by_name(CONTACTS)
        if balls:
            size = 2.0 * balls[0].radius
            self._scene.add_point_cloud(
                CONTACTS, points, COLOR, point_size=size, point_shape="circle"
            )

    def _show_arrows(self, arrows: Sequence[Arrow]) -> None:
        if not (arrows and self.forces):
            self._scene.remove_by_name(FORCES)
            return
        # unlike in a video, the hand hides arrows outside the object, so they start at the contact
        # point and continue into the transparent object
        shafts = np.array([(arrow.start, arrow.vector_end) for arrow in arrows])
        radius, ends = arrows[0].radius, shafts + np.diff(shafts, axis=1)
        if updated(self._scene, FORCES, points=ends):
            return
        wide, long = HEAD[0] * radius, HEAD[1] * radius
        self._scene.add_arrows(
            FORCES, ends, COLOR, shaft_radius=radius, head_radius=wide, head_length=long
        )


def updated(scene: viser.SceneApi, name: str, **properties: object) -> bool:
    """Change properties of a node of the browser scene in place, which avoids flicker.

    Returns:
        Whether the node exists; otherwise it has to be added.
    """
    handle = scene.get_handle_by_name(name)
    if handle is None:
        return False
    for key, value in properties.items():
        setattr(handle, key, value)
    return True
