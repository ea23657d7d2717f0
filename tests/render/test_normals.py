"""Round meshes look round without OpenGL; flat sides stay flat."""

import mujoco
import numpy as np

from softgrasp.rendering.shading import smooth_mesh


def _hits(model, data, count=2000):
    rng = np.random.default_rng(0)
    away = rng.normal(size=(count, 3))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    normal, points = np.empty((count, 3)), np.empty((count, 3))
    for index, start in enumerate(away):
        part = mujoco.mj_rayMesh(model, data, 0, start, -start, normal[index])
        points[index] = (1.0 - part) * start
    frame, position = data.geom_xmat[0].reshape(3, 3), data.geom_xpos[0]
    return points, normal, (points - position) @ frame, normal @ frame, frame


def _model(vertices, faces):
    spec = mujoco.MjSpec()
    spec.add_mesh(name="mesh", uservert=vertices.ravel(), userface=faces.ravel())
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def _ball(rings=12, slices=20, squeeze=(0.5, 0.4, 0.3)):
    polar = np.pi * (np.arange(rings) + 0.5) / rings
    rotation = 2 * np.pi * np.arange(slices) / slices
    flat = np.stack([np.cos(rotation), np.sin(rotation)], axis=1)
    ring = np.sin(polar)[:, None, None] * flat
    height = np.broadcast_to(np.cos(polar)[:, None, None], (rings, slices, 1))
    vertices = np.concatenate([ring, height], axis=-1).reshape(-1, 3)
    vertices = np.vstack([vertices, [[0, 0, 1], [0, 0, -1]]]) * squeeze
    i, j = np.meshgrid(np.arange(rings - 1), np.arange(slices), indexing="ij")
    a, b = i * slices + j, i * slices + (j + 1) % slices
    side = np.stack([a, a + slices, b, b, a + slices, b + slices], axis=-1).reshape(-1, 3)
    around, ahead, last = np.arange(slices), (np.arange(slices) + 1) % slices, (rings - 1) * slices
    north = np.stack([np.full(slices, rings * slices), around, ahead], axis=1)
    south = np.stack([np.full(slices, rings * slices + 1), last + ahead, last + around], axis=1)
    return vertices, np.vstack([side, north, south])


def test_normals_of_a_round_mesh_follow_the_shape_not_the_triangles():
    model, data = _model(*_ball())
    points, flat, local, local_flat, frame = _hits(model, data)
    true = points / np.array([0.5, 0.4, 0.3]) ** 2
    true /= np.linalg.norm(true, axis=1, keepdims=True)
    smooth = smooth_mesh(model, 0).at(local, local_flat) @ frame.T
    assert np.allclose(np.linalg.norm(smooth, axis=1), 1.0)
    error = np.degrees(np.arccos(np.clip((smooth * true).sum(axis=1), -1, 1)))
    error_flat = np.degrees(np.arccos(np.clip((flat * true).sum(axis=1), -1, 1)))
    assert np.median(error) < 0.3 * np.median(error_flat)
    assert np.percentile(error, 99) < 6.0


def test_a_flat_side_of_many_triangles_keeps_its_normal():
    rotation = 2 * np.pi * np.arange(24) / 24
    ring = np.stack([0.3 * np.cos(rotation), 0.3 * np.sin(rotation)], axis=1)
    vertices = np.vstack(
        [np.column_stack([ring, np.full(24, z)]) for z in (-0.2, 0.2)]
        + [[[0, 0, -0.2], [0, 0, 0.2]]]
    )
    near, far = np.arange(24), (np.arange(24) + 1) % 24
    faces = [
        np.stack([near, far, far + 24], axis=1),
        np.stack([near, far + 24, near + 24], axis=1),
        np.stack([np.full(24, 49), near + 24, far + 24], axis=1),
        np.stack([np.full(24, 48), far, near], axis=1),
    ]
    model, data = _model(vertices, np.vstack(faces))
    points, _, local, local_flat, frame = _hits(model, data)
    smooth = smooth_mesh(model, 0).at(local, local_flat) @ frame.T
    top = (points[:, 2] > 0.2 - 1e-6) & (np.hypot(points[:, 0], points[:, 1]) < 0.29)
    assert top.sum() > 100
    assert np.allclose(smooth[top], [0, 0, 1], atol=1e-4)
    side = np.abs(points[:, 2]) < 0.15
    outward = points[side, :2] / np.linalg.norm(points[side, :2], axis=1, keepdims=True)
    assert ((smooth[side, :2] * outward).sum(axis=1) > np.cos(np.radians(4))).mean() > 0.9
