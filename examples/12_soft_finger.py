"""A soft finger as rigid links: its error is known, it bends under pressure, and it grasps."""

import numpy as np

import softgrasp as sg

print("joints  tip under 20 g [mm]  known error [mm]")
for joints in (2, 4, 8, 16):
    finger = sg.rld.discretise(length=0.1, bending_stiffness=5e-3, mass=0.02, joints=joints)
    rest = sg.equilibrium(finger, tip_mass=0.02)
    tip, error = 1e3 * rest.tip_position, 1e3 * rest.discretisation_error
    print(f"{joints:6d}  {tip[0]:8.2f} {tip[2]:8.2f}  {error:14.3f}")

paper = sg.io.load_finger("paper000")
for kilopascals in (0, 50, 100):
    bent = sg.equilibrium(paper, pressure=1e3 * kilopascals, gravity=False)
    print(f"{kilopascals:3d} kPa: the tip turns by {np.degrees(bent.tip_angle):.1f}°")

scene = sg.GraspScene(
    hand=sg.load_hand("soft_gripper"),
    object=sg.load_object("strawberry"),
    grasp="precision",
    gravity=True,
    surroundings=(sg.Table(),),  # right under the object
    lift=sg.description.Lift(),
)
result = sg.simulate(scene)
print(f"{result.message}; lifted {1e3 * result.hold.lifted_m:.0f} mm, held: {result.held}")
