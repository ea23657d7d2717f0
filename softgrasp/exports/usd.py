"""Scenes and runs in USD: bodies, shapes, masses, joints and motions, for Isaac Sim and others.

Each tree of bodies is an ``Xform`` below ``/World``, with its bodies side by side in the world's
frame: rigid bodies of UsdPhysics that joints connect, an articulation where there are joints. The
stage has metres, kilograms and z upwards, and one time code per second.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, missing_library
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.evaluation.result import GraspResult
from softgrasp.exports.episodes import FPS, sample_times
from softgrasp.io.files import atomic_path
from softgrasp.io.mjcf.model import triangles_of
from softgrasp.mechanics.transforms import (
    position_of,
    quaternion_between,
    quaternion_of,
    transform,
)
from softgrasp.pipeline import compile_model
from softgrasp.rendering.camera import SHOWN_GROUPS, find_covered_geoms, geom_colors

if TYPE_CHECKING:
    from pxr import Usd

SUFFIXES = (".usda", ".usdc", ".usd")
PLANE_SIZE = 4.0
"""Width of a plane that MuJoCo has without bounds [m]."""
GEOM, JOINT = mujoco.mjtGeom, mujoco.mjtJoint


def write_usd(source: GraspScene | GraspResult, path: str | Path, fps: int = FPS) -> Path:
    """Write a scene at its start, or a run with its motion, as a USD stage.

    Args:
        source: The scene or the result.
        path: File ending in ``.usda`` (text), ``.usdc`` or ``.usd``.
        fps: Samples of the motion per second.

    Returns:
        The path.

    Raises:
        BackendUnavailable: usd-core is not installed.
        DescriptionError: The file has another ending, or an object is deformable.
        BuildError: The scene cannot be built.
    """
    try:
        import pxr  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise DescriptionError(f"{path}: expected a name ending in {', '.join(SUFFIXES)}")
    if isinstance(source, GraspScene):
        model = compile_model(source)
        writer, data = _Writer(model), mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_kinematics(model, data)
        writer.pose(data)
    else:
        replay, times = ReplayedResult(source), sample_times(source.time, fps)
        writer = _Writer(replay.model)
        writer.stage.SetTimeCodesPerSecond(1.0)  # a time code is a second
        writer.stage.SetFramesPerSecond(fps)
        writer.stage.SetStartTimeCode(float(times[0]))
        writer.stage.SetEndTimeCode(float(times[-1]))
        for time in times.tolist():
            writer.pose(replay.pose(time), time)
    with atomic_path(path) as temporary:
        writer.stage.Export(str(temporary))
    return path


class _Writer:
    """A stage of a model: gravity, bodies with their shapes, and joints."""

    def __init__(self, model: mujoco.MjModel) -> None:
        from pxr import Tf, Usd, UsdGeom, UsdPhysics

        if model.nflex:
            raise DescriptionError("expected rigid objects in USD, found a deformable one")
        self.stage, self._model = Usd.Stage.CreateInMemory(), model
        UsdGeom.SetStageUpAxis(self.stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, 1.0)
        self.stage.SetDefaultPrim(UsdGeom.Xform.Define(self.stage, "/World").GetPrim())
        self._colors, self._shown = geom_colors(model), set(find_covered_geoms(model).tolist())
        clean: Callable[[str], str] = Tf.MakeValidIdentifier
        names = [clean(model.body(body).name or f"body{body}") for body in range(model.nbody)]
        trees = [f"/World/{names[root]}_tree" for root in model.body_rootid]
        self._paths = ["/World", *(f"{trees[b]}/{names[b]}" for b in range(1, model.nbody))]
        for tree in trees[1:]:
            UsdGeom.Xform.Define(self.stage, tree)
        self._ops = [self._add_body(body) for body in range(1, model.nbody)]
        self._set_gravity()
        for geom in range(model.ngeom):
            self._add_geom(geom)
        for body in range(1, model.nbody):
            self._add_joint(body)

    def _set_gravity(self) -> None:
        from pxr import Gf, UsdPhysics

        gravity = np.array(self._model.opt.gravity)
        size = float(np.linalg.norm(gravity))
        physics = UsdPhysics.Scene.Define(self.stage, "/World/physics")
        physics.CreateGravityMagnitudeAttr(size)
        if size:
            physics.CreateGravityDirectionAttr(Gf.Vec3f(*(gravity / size).tolist()))

    def _add_body(self, body: int) -> tuple[Any, Any]:
        """Add a body; return the operations that set its position and rotation."""
        from pxr import UsdGeom

        xform = UsdGeom.Xform.Define(self.stage, self._paths[body])
        if self._model.body_weldid[body]:
            self._add_mass(xform.GetPrim(), body)
        return xform.AddTranslateOp(), xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)

    def pose(self, data: mujoco.MjData, time: float | None = None) -> None:
        """Set the poses of all bodies, at a time [s] or for all times."""
        from pxr import Gf, Usd

        code = Usd.TimeCode.Default() if time is None else Usd.TimeCode(time)
        for body, (position, rotation) in enumerate(self._ops, start=1):
            w, *xyz = data.xquat[body].tolist()
            position.Set(Gf.Vec3d(*data.xpos[body].tolist()), code)
            rotation.Set(Gf.Quatd(w, *xyz), code)

    def _add_mass(self, prim: Usd.Prim, body: int) -> None:
        from pxr import Gf, UsdPhysics

        model = self._model
        UsdPhysics.RigidBodyAPI.Apply(prim)
        mass = UsdPhysics.MassAPI.Apply(prim)
        mass.CreateMassAttr(float(model.body_mass[body]))
        mass.CreateCenterOfMassAttr(Gf.Vec3f(*model.body_ipos[body].tolist()))
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*model.body_inertia[body].tolist()))
        mass.CreatePrincipalAxesAttr(_quatf(model.body_iquat[body]))

    def _add_geom(self, geom: int) -> None:
        from pxr import Gf, UsdGeom, UsdPhysics

        model = self._model
        shape = self._shape(f"{self._paths[model.geom_bodyid[geom]]}/geom{geom}", geom)
        shape.AddTranslateOp().Set(Gf.Vec3d(*model.geom_pos[geom].tolist()))
        shape.AddOrientOp().Set(_quatf(model.geom_quat[geom]))
        if int(model.geom_type[geom]) in (GEOM.mjGEOM_BOX, GEOM.mjGEOM_ELLIPSOID):
            shape.AddScaleOp().Set(Gf.Vec3f(*model.geom_size[geom].tolist()))
        *rgb, opacity = self._colors[geom].tolist()
        shape.CreateDisplayColorAttr([Gf.Vec3f(*rgb)])
        shape.CreateDisplayOpacityAttr([opacity])
        is_plane = int(model.geom_type[geom]) == GEOM.mjGEOM_PLANE
        if not (geom in self._shown or (is_plane and model.geom_group[geom] < SHOWN_GROUPS)):
            shape.CreatePurposeAttr(UsdGeom.Tokens.guide)
        if self._touches(geom):
            UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
            if shape.GetPrim().IsA(UsdGeom.Mesh):
                mesh = UsdPhysics.MeshCollisionAPI.Apply(shape.GetPrim())
                mesh.CreateApproximationAttr(UsdPhysics.Tokens.convexHull)

    def _touches(self, geom: int) -> bool:
        model = self._model
        paired = geom in model.pair_geom1 or geom in model.pair_geom2
        return bool(paired or model.geom_contype[geom] or model.geom_conaffinity[geom])

    def _shape(self, path: str, geom: int) -> Any:
        from pxr import UsdGeom

        radius, half, _ = self._model.geom_size[geom].tolist()
        size = {"Radius": radius, "Height": 2.0 * half, "Axis": "Z"}
        plane = {"Width": 2 * radius or PLANE_SIZE, "Length": 2 * half or PLANE_SIZE, "Axis": "Z"}
        kinds = {
            GEOM.mjGEOM_PLANE: (UsdGeom.Plane, plane),
            GEOM.mjGEOM_SPHERE: (UsdGeom.Sphere, {"Radius": radius}),
            GEOM.mjGEOM_ELLIPSOID: (UsdGeom.Sphere, {"Radius": 1.0}),
            GEOM.mjGEOM_BOX: (UsdGeom.Cube, {"Size": 2.0}),
            GEOM.mjGEOM_CAPSULE: (UsdGeom.Capsule, size),
            GEOM.mjGEOM_CYLINDER: (UsdGeom.Cylinder, size),
        }
        kind = GEOM(int(self._model.geom_type[geom]))
        if kind not in kinds:
            return self._mesh(path, geom)
        schema, values = kinds[kind]
        shape = schema.Define(self.stage, path)
        for name, value in values.items():
            getattr(shape, f"Create{name}Attr")(value)
        return shape

    def _mesh(self, path: str, geom: int) -> Any:
        from pxr import UsdGeom, Vt

        points, faces = triangles_of(self._model, geom)
        mesh = UsdGeom.Mesh.Define(self.stage, path)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(faces.ravel().astype(np.int32)))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        return mesh

    # Joints

    def _add_joint(self, body: int) -> None:
        """Connect a body to its parent with a joint of the same freedom."""
        from pxr import UsdPhysics

        model, path = self._model, self._paths[body]
        parent, first = int(model.body_parentid[body]), int(model.body_jntadr[body])
        joints = list(range(first, first + int(model.body_jntnum[body])))
        kinds = [int(model.jnt_type[joint]) for joint in joints]
        if kinds == [JOINT.mjJNT_FREE] or (not joints and not model.body_weldid[body]):
            return
        classes = {
            (JOINT.mjJNT_HINGE,): UsdPhysics.RevoluteJoint,
            (JOINT.mjJNT_SLIDE,): UsdPhysics.PrismaticJoint,
            (JOINT.mjJNT_BALL,): UsdPhysics.SphericalJoint,
            (): UsdPhysics.FixedJoint,
        }
        kind = classes.get(tuple(kinds), UsdPhysics.Joint)
        joint = kind.Define(self.stage, f"{path}/joint")
        if model.body_weldid[parent]:
            joint.CreateBody0Rel().SetTargets([self._paths[parent]])
        joint.CreateBody1Rel().SetTargets([path])
        self._set_frames(joint, body, joints if len(kinds) == 1 else [])
        if joints:
            root = self.stage.GetPrimAtPath(path).GetParent()
            UsdPhysics.ArticulationRootAPI.Apply(root)
        if kind in (UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint):
            self._limit(joint, joints[0], kinds[0])
        elif kind is UsdPhysics.Joint:
            self._lock(joint, joints)

    def _set_frames(self, joint: Any, body: int, joints: list[int]) -> None:
        """Set the frames of a joint in both bodies; the x axis is that of a hinge or a slide."""
        from pxr import Gf

        model, inner = self._model, np.eye(4)
        if joints:
            inner[:3, :3] = quaternion_between((1.0, 0.0, 0.0), model.jnt_axis[joints[0]])
            inner[:3, 3] = model.jnt_pos[joints[0]]
            if hasattr(joint, "CreateAxisAttr"):
                joint.CreateAxisAttr("X")
        parent = int(model.body_parentid[body])
        outer = transform(model.body_pos[body], model.body_quat[body]) @ inner
        while parent and not model.body_weldid[parent]:  # in the world, where the parent is fixed
            outer = transform(model.body_pos[parent], model.body_quat[parent]) @ outer
            parent = int(model.body_parentid[parent])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*position_of(outer)))
        joint.CreateLocalRot0Attr(_quatf(quaternion_of(outer)))
        joint.CreateLocalPos1Attr(Gf.Vec3f(*position_of(inner)))
        joint.CreateLocalRot1Attr(_quatf(quaternion_of(inner)))

    def _limit(self, joint: Any, number: int, kind: int) -> None:
        """Set the range of a joint [deg or m], and the spring of its position servo."""
        from pxr import UsdPhysics

        model, is_hinge = self._model, kind == JOINT.mjJNT_HINGE
        factor = float(np.degrees(1.0)) if is_hinge else 1.0
        if model.jnt_limited[number]:
            start = model.qpos0[model.jnt_qposadr[number]]
            low, high = (factor * (model.jnt_range[number] - start)).tolist()
            joint.CreateLowerLimitAttr(low)
            joint.CreateUpperLimitAttr(high)
        servos = np.flatnonzero(
            (model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT)
            & (model.actuator_trnid[:, 0] == number)
            & (model.actuator_biasprm[:, 1] < 0.0)
        )
        if len(servos):
            servo = servos[0]
            spring = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular" if is_hinge else "linear")
            spring.CreateStiffnessAttr(float(-model.actuator_biasprm[servo, 1] / factor))
            spring.CreateDampingAttr(float(-model.actuator_biasprm[servo, 2] / factor))

    def _lock(self, joint: Any, numbers: list[int]) -> None:
        """Lock what several joints along axes of a body do not free."""
        from pxr import UsdPhysics

        model, free = self._model, set()
        for number in numbers:
            prefix = "rot" if int(model.jnt_type[number]) == JOINT.mjJNT_HINGE else "trans"
            free.add(prefix + "XYZ"[int(np.argmax(np.abs(model.jnt_axis[number])))])
        for freedom in (f"{prefix}{axis}" for prefix in ("trans", "rot") for axis in "XYZ"):
            if freedom not in free:
                limit = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), freedom)
                limit.CreateLowAttr(1.0)
                limit.CreateHighAttr(-1.0)  # low above high locks


def _quatf(quaternion: ArrayLike) -> Any:
    from pxr import Gf

    return Gf.Quatf(*np.asarray(quaternion, dtype=float).tolist())
