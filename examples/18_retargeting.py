"""A human hand that closes, imitated by another hand, and a grasp that a third hand takes over."""

import numpy as np

import softgrasp as sg

BASES = {1: (20, 35), 5: (95, 25), 9: (100, 5), 13: (95, -15), 17: (85, -33)}
LENGTHS = {1: (45, 32, 27), 5: (40, 25, 20), 9: (45, 28, 21), 13: (41, 26, 21), 17: (33, 20, 18)}


def keypoints(flexion: float) -> np.ndarray:
    """Return 21 keypoints [mm] of a schematic right hand, palm down, for an angle a joint [rad]."""
    points = np.zeros((21, 3))
    for first, (x, y) in BASES.items():
        outward = np.array([0.6, 0.8, 0.0]) if first == 1 else np.array([1.0, 0.0, 0.0])
        points[first], angle = (x, y, 0.0), 0.0
        for index, length in enumerate(LENGTHS[first], start=first):
            angle += flexion
            step = np.cos(angle) * outward - np.sin(angle) * np.array([0.0, 0.0, 1.0])
            points[index + 1] = points[index] + length * step
    return points


hand, posture = sg.load_hand("dlr_hit_ii"), None
for flexion in np.radians([10.0, 20.0, 30.0, 40.0]):
    posture = sg.mechanics.retarget(hand, keypoints(flexion), previous=posture)
    print(f"scale {posture.scale:.2e}:", {k: round(v, 1) for k, v in posture.residual_mm.items()})
print({name: round(float(np.degrees(q))) for name, q in posture.joints.items()})

held = sg.simulate(
    sg.GraspScene(hand="four_finger", object="sphere", grasp="precision", success={})
)
grasp = sg.resolution.transfer_grasp(held, sg.load_hand("three_fingered"))
print(grasp.fingers, sg.simulate(grasp.scene).message)
