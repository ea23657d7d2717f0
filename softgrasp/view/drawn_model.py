"""A MuJoCo model in a browser: its bodies once, then only their poses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import mujoco
import numpy as np
import viser

from softgrasp.formats.mjcf.primitives import primitive_of
from softgrasp.formats.shape_mesh import Triangles, shape_triangles
from softgrasp.render.extents import SHOWN_GROUPS, drawing_copy, geom_colors, solid_geoms
from softgrasp.render.marks import Rgba
from softgrasp.render.skins import Skin, skins_of

CLEAR: Rgba = (0.95, 0.55, 0.15, 0.35)
"""Colour of collision shapes that are shown over what they stand for."""
FOLDS = 30.0
"""Meshes are shaded flat where they have fewer triangles than this many squared."""


class DrawnModel:
    """A model in the scene of a page.

    Args:
        scene: The scene of the page.
        model: The model.
        root: Name under which it stands in the scene.
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
        """Move everything to where it is in a state whose kinematics are known."""
        for body, frame in self._bodies.items():
            frame.position, frame.wxyz = data.xpos[body], data.xquat[body]
        for skin, handle in self._skins:
            for bone, body in zip(handle.bones, skin.bodies.tolist(), strict=True):
                bone.position, bone.wxyz = data.xpos[body], data.xquat[body]
        for number, flex in enumerate(self._flexes):
            flex.vertices = data.flexvert_xpos[self._nodes(number)].astype(np.float32)

    def paint(self, colors: Mapping[int, Rgba]) -> None:
        """Give geoms, by their numbers, other colours than their own; all others get theirs."""
        for geom, handle in self._geoms.items():
            if self._is_shown(geom):
                rgba = _bytes(colors.get(geom, tuple(self._colors[geom])))
                if tuple(handle.color) != rgba:
                    handle.color = rgba

    def fade(self, geoms: Iterable[int], opacity: float) -> None:
        """Let what is behind geoms be seen, from 1 (not at all) to 0 (they are not seen)."""
        for geom in set(geoms) & {one for one in self._geoms if self._is_shown(one)}:
            self._geoms[geom].opacity = None if opacity >= 1.0 else opacity

    def show_collisions(self, *, shown: bool) -> None:
        """Show or hide shapes that touch and are not seen."""
        for geom, handle in self._geoms.items():
            if not self._is_shown(geom):
                handle.visible = shown

    def _is_shown(self, geom: int) -> bool:
        return bool(self.model.geom_group[geom] < SHOWN_GROUPS and self._colors[geom, 3] > 0)

    def _drawn(self) -> list[int]:
        """Geoms that are seen, and those that only touch."""
        touching = (self.model.geom_contype > 0) | (self.model.geom_conaffinity > 0)
        solid = self.model.geom_type != int(mujoco.mjtGeom.mjGEOM_PLANE)
        geoms: list[int] = np.union1d(
            solid_geoms(self.model), np.flatnonzero(touching & solid)
        ).tolist()
        return geoms

    def _add_geom(self, geom: int) -> viser.MeshHandle:
        vertices, faces = triangles_of(self.model, geom)
        rgba = tuple(self._colors[geom]) if self._is_shown(geom) else CLEAR
        return self._scene.add_mesh_simple(
            f"{self._root}/{self.model.geom_bodyid[geom]}/{geom}",
            vertices,
            faces,
            color=_bytes(rgba),
            opacity=None if rgba[3] >= 1.0 else float(rgba[3]),
            flat_shading=len(faces) < FOLDS**2 and not _is_round(self.model, geom),
            receive_shadow=False,  # at the scale of a hand shadows are stripes
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


def triangles_of(model: mujoco.MjModel, geom: int) -> Triangles:
    """Triangles on a geom, in its frame; on the box around it where it is of no known kind."""
    if int(model.geom_type[geom]) == int(mujoco.mjtGeom.mjGEOM_MESH):
        mesh = int(model.geom_dataid[geom])
        vertices = slice(
            model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh]
        )
        faces = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
        return model.mesh_vert[vertices].astype(float), model.mesh_face[faces].astype(np.int64)
    shape = primitive_of(model, geom)
    if shape is None:
        raise ValueError(f"geom {geom} is of no kind that can be drawn")
    return shape_triangles(shape)


def _is_round(model: mujoco.MjModel, geom: int) -> bool:
    kinds = mujoco.mjtGeom
    flat = (int(kinds.mjGEOM_BOX), int(kinds.mjGEOM_MESH), int(kinds.mjGEOM_CYLINDER))
    return int(model.geom_type[geom]) not in flat


def _bytes(rgba: tuple[float, ...]) -> tuple[int, int, int]:
    """Red, green and blue of 0 to 255."""
    red, green, blue = (round(255 * float(part)) for part in rgba[:3])
    return (red, green, blue)
