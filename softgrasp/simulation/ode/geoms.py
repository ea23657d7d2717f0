"""Shapes of Solids as geometries of ODE."""

from __future__ import annotations

from typing import Any

import numpy as np

from softgrasp.errors import SimulationError
from softgrasp.simulation.ode.binding import Ode
from softgrasp.simulation.ode.geometry import Shape
from softgrasp.simulation.ode.poses import Pose
from softgrasp.simulation.ode.solids import Solid


class Geometries:
    """All geometries of a world.

    Args:
        ode: The functions.
        space: ODE's space that they go to.
        solids: With bodies that have their handles.
    """

    def __init__(self, ode: Ode, space: int, solids: list[Solid]) -> None:
        self._ode, self._space = ode, space
        self._kept: list[Any] = []
        self.owners: dict[int, Solid] = {}
        """The Solid of each geometry, by its handle."""
        robots = {id(s.robot): s.robot for s in solids if s.robot and not s.robot.self_collision}
        self._bits = {key: 1 << (1 + index % 30) for index, key in enumerate(robots)}
        for solid in solids:
            for shape in solid.shapes:
                handle = self._create(solid, shape)
                self.owners[handle] = solid
                self._group(handle, solid)

    def _group(self, handle: int, solid: Solid) -> None:
        """Spare the callback what cannot touch: parts of one Robot; it decides all else itself."""
        if len(self._bits) > 30:
            return
        bit = self._bits.get(id(solid.robot), 1)
        self._ode.GeomSetCategoryBits(handle, bit)
        self._ode.GeomSetCollideBits(handle, 0xFFFFFFFF ^ (bit & ~1))

    def _create(self, solid: Solid, shape: Shape) -> int:
        ode, space = self._ode, self._space
        if shape.kind == "Plane":
            return self._plane(solid, shape)
        if shape.triangles is not None:
            handle = self._surface(*shape.triangles)
        else:
            maker = {
                "Box": ode.CreateBox,
                "Sphere": ode.CreateSphere,
                "Capsule": ode.CreateCapsule,
                "Cylinder": ode.CreateCylinder,
            }[shape.kind]
            handle = maker(space, *shape.sizes)
        self._set_pose(handle, solid, shape)
        return handle

    def _set_pose(self, handle: int, solid: Solid, shape: Shape) -> None:
        ode = self._ode
        if solid.body is None:
            pose = solid.start @ shape.pose
            ode.GeomSetPosition(handle, *pose.position)
            ode.GeomSetRotation(handle, ode.matrix3(pose.rotation))
            return
        pose = solid.in_body @ shape.pose
        ode.GeomSetBody(handle, solid.body.handle)
        # ODE's body stands at the centre of mass
        ode.GeomSetOffsetPosition(handle, *(pose.position - solid.body.weight().center))
        ode.GeomSetOffsetRotation(handle, ode.matrix3(pose.rotation))

    def _plane(self, solid: Solid, shape: Shape) -> int:
        """Half of the space, below the plane: its size in Webots is for the eye only."""
        if solid.body is not None:
            raise SimulationError(f"Solid {solid.name}: a Plane cannot move; expected no Physics")
        pose: Pose = solid.start @ shape.pose
        normal = pose.rotation[:, 2]
        handle: int = self._ode.CreatePlane(self._space, *normal, float(normal @ pose.position))
        return handle

    def _surface(self, vertices: Any, faces: Any) -> int:
        """A surface of triangles; ODE reads the arrays whenever it collides, so they are kept."""
        ode = self._ode
        points = np.ascontiguousarray(vertices, dtype=ode.number)
        corners = np.ascontiguousarray(faces, dtype=np.uint32)
        data = ode.GeomTriMeshDataCreate()
        double = ode.library.precision == "double"
        build = ode.GeomTriMeshDataBuildDouble if double else ode.GeomTriMeshDataBuildSingle
        build(
            data,
            points.ctypes.data,
            points.strides[0],
            len(points),
            corners.ctypes.data,
            corners.size,
            corners.strides[0],
        )
        self._kept += [points, corners]
        handle: int = ode.CreateTriMesh(self._space, data, None, None, None)
        return handle
