"""The bodies in front of the ray caster's camera, and the colour of what a ray meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.render import extents, lighting
from softgrasp.render.camera import Camera
from softgrasp.render.normals import SmoothMesh
from softgrasp.render.rays import Caster, Floats
from softgrasp.render.shading import shaded
from softgrasp.render.shadows import Lamp
from softgrasp.render.skins import Skin, SkinCaster

Colors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Samples:
    """Points of bodies seen from the camera.

    Args:
        geom: Geom ids, shape (n,); skins are numbered behind all geoms.
        depth: Depths [m], shape (n,).
        normal: Outward unit normals, shape (n, 3).
        ray: World vectors of unit depth from the camera, shape (n, 3).
    """

    geom: Ids
    depth: Floats
    normal: Floats
    ray: Floats


SIDES = 8
_ROUND = [int(getattr(mujoco.mjtGeom, f"mjGEOM_{k}")) for k in ("SPHERE", "CAPSULE", "ELLIPSOID")]


class Stage:
    """Bodies, camera and key light of one picture.

    Args:
        model: The model.
        data: Its state.
        camera: The camera.
        palette: Colour of every geom, then of every skin, shape (ngeom + skins, 3).
        meshes: Smooth normals by mesh id.
        skins: Skins of the model.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        camera: Camera,
        palette: Colors,
        meshes: Mapping[int, SmoothMesh],
        skins: Sequence[Skin] = (),
    ) -> None:
        solid = extents.solid_geoms(model)
        self.camera, self.eye = camera, camera.position
        self.caster = Caster(model, data)
        self._skins = SkinCaster(skins, data, self.eye, camera.axes())
        self.boxes = np.concatenate([extents.box_corners(model, data, solid), self._skins.boxes])
        toward_key = -lighting.key_direction(model, data, camera)
        self.lamp = Lamp(toward_key, *extents.bounding_ball(model, data))
        self.frames = data.geom_xpos, data.geom_xmat.reshape(-1, 3, 3)
        self._geoms = model.ngeom
        self._palette = palette
        round_skins = np.zeros(len(skins), dtype=bool)
        self._is_edged = np.concatenate([~np.isin(model.geom_type, _ROUND), round_skins])
        self._is_solid = np.zeros(model.ngeom, dtype=bool)
        self._is_solid[solid] = True
        is_mesh = model.geom_type[solid] == int(mujoco.mjtGeom.mjGEOM_MESH)
        self._smooth = {int(k): meshes[int(model.geom_dataid[k])] for k in solid[is_mesh]}

    def cast(self, rays: Floats) -> tuple[Indices, Samples]:
        """Which of the rays (n, 3) from the camera meet a body, and what those meet."""
        hits = self.caster.hits(self.eye, rays)
        met = hits.geom >= 0
        is_body = met & self._is_solid[hits.geom]
        if len(self._skins.boxes):
            on = self._skins.hits(rays, np.where(met, hits.distance, np.inf))
            is_body[on.ray] = True
            hits.geom[on.ray] = self._geoms + on.skin
            hits.distance[on.ray], hits.normal[on.ray] = on.depth, on.normal
        solid = np.flatnonzero(is_body)
        seen = Samples(
            hits.geom.take(solid),
            hits.distance.take(solid),
            hits.normal.take(solid, axis=0),
            rays.take(solid, axis=0),
        )
        for geom, mesh in self._smooth.items():
            chosen = seen.geom == geom
            if chosen.any():
                origin, frame = self.frames[0][geom], self.frames[1][geom]
                points = self.eye + seen.depth[chosen, None] * seen.ray[chosen]
                smooth = mesh.at((points - origin) @ frame, seen.normal[chosen] @ frame)
                seen.normal[chosen] = smooth @ frame.T
        return solid, seen

    def on_skin(self, seen: Samples) -> npt.NDArray[np.bool_]:
        """Which samples lie on a skin, (n,)."""
        return np.asarray(seen.geom >= self._geoms)

    def surfaces(self, seen: Samples) -> Ids:
        """Numbers (n,) that tell surfaces apart: geom times SIDES plus the side of the geom.

        Light is mixed between pixels of one surface only; sides are told by the axis, of the
        six along and against x, y and z, that the normal is nearest to.
        """
        surface = seen.geom * np.int32(SIDES)
        edged = np.flatnonzero(self._is_edged[seen.geom])
        normal = seen.normal[edged]
        axis = np.abs(normal).argmax(axis=1)
        ahead = np.take_along_axis(normal, axis[:, None], axis=1)[:, 0] > 0.0
        surface[edged] += 1 + axis.astype(np.int32) + 3 * ahead
        return np.asarray(surface)

    def colors(self, seen: Samples, visibility: Colors) -> Colors:
        """Colours (3, n) of what is seen, with this share (n,) of the key light."""
        ray = np.ascontiguousarray(seen.ray.T, dtype=np.float32)
        toward_eye = ray / -np.sqrt(ray[0] ** 2 + ray[1] ** 2 + ray[2] ** 2)
        normal = np.ascontiguousarray(seen.normal.T, dtype=np.float32)
        albedo = self._palette.T[:, seen.geom]
        return shaded(albedo, normal, toward_eye, self.lamp.toward.astype(np.float32), visibility)
