"""A mesh of your own as an object: written, looked at by the doctor, grasped in three sizes."""

from pathlib import Path

import numpy as np

import softgrasp as sg

# in place of your own file: a barrel of 12 sides, 60 mm long, in millimetres
rotations = np.radians(np.arange(0, 360, 30))
rings = [(-30, 18), (0, 24), (30, 18)]
points = [(r * np.cos(t), r * np.sin(t), z) for z, r in rings for t in rotations]
points += [(0, 0, -30), (0, 0, 30)]
quads = [(12 * i + k, 12 * i + (k + 1) % 12) for i in range(2) for k in range(12)]
faces = [face for a, b in quads for face in ((a, b, b + 12), (a, b + 12, a + 12))]
faces += [(36, (k + 1) % 12, k) for k in range(12)]
faces += [(37, 24 + k, 24 + (k + 1) % 12) for k in range(12)]
lines = ["v {:.3f} {:.3f} {:.3f}".format(*point) for point in points]
lines += ["f {} {} {}".format(*(index + 1 for index in face)) for face in faces]
Path("barrel.obj").write_text("\n".join(lines), encoding="utf-8")

mesh = sg.Mesh(file=str(Path("barrel.obj").resolve()), units="mm", collision="hull")
barrel = sg.GraspObject(name="barrel", shape=mesh, density=700.0)
for check in sg.inspect(barrel).checks:
    print(f"{check.verdict:7} {check.name}: {check.measured}")
for scale in (0.8, 1.0, 1.2):
    own = barrel.replace(shape=mesh.replace(scale=scale))
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=own, grasp="precision")
    result = sg.simulate(scene.replace(success=sg.SuccessCriterion()))
    print(f"scale {scale}: {result.message}; held: {result.held}")
