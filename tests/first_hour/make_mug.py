"""A mug with a handle, in millimetres: ``my_mug.stl``."""

import numpy as np
import trimesh

PROFILE = np.array([[0, 0], [32, 0], [36, 4], [36, 90], [33, 90], [33, 5], [0, 5]], dtype=float)
"""Radius and height of the body [mm]."""
RINGS, AROUND, RADIUS = 24, 16, 5.0
"""Of the handle, a bent tube whose ends stand in the wall."""


def handle() -> trimesh.Trimesh:
    rotation = np.linspace(-np.pi / 2, np.pi / 2, RINGS)
    centers = np.c_[34.5 + 30 * np.cos(rotation), 0 * rotation, 47 + 27 * np.sin(rotation)]
    along = np.gradient(centers, axis=0)
    along /= np.linalg.norm(along, axis=1)[:, None]
    aside = np.array([0.0, 1.0, 0.0])
    angles = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)[:, None]
    rings = [
        center + RADIUS * (np.cos(angles) * aside + np.sin(angles) * np.cross(way, aside))
        for center, way in zip(centers, along, strict=True)
    ]
    faces = []
    for ring in range(RINGS - 1):
        for side in range(AROUND):
            a, b = ring * AROUND + side, ring * AROUND + (side + 1) % AROUND
            faces += [[a, b, a + AROUND], [b, b + AROUND, a + AROUND]]
    first, last, top = RINGS * AROUND, RINGS * AROUND + 1, (RINGS - 1) * AROUND
    for side in range(AROUND):
        following = (side + 1) % AROUND
        faces += [[first, following, side], [last, top + side, top + following]]
    tube = trimesh.Trimesh(np.vstack([*rings, centers[:1], centers[-1:]]), faces)
    tube.fix_normals()
    return tube


mug = trimesh.util.concatenate([trimesh.creation.revolve(PROFILE, sections=64), handle()])
mug.export("my_mug.stl")
