from softgrasp.mechanics.camera import deproject as deproject
from softgrasp.mechanics.camera import distort as distort
from softgrasp.mechanics.camera import project as project
from softgrasp.mechanics.camera import undistort as undistort
from softgrasp.mechanics.contact_stiffness import hertz_patch_radius as hertz_patch_radius
from softgrasp.mechanics.hand_kinematics import PlacedHand as PlacedHand
from softgrasp.mechanics.hand_kinematics import forward_kinematics as forward_kinematics
from softgrasp.mechanics.hand_kinematics import joined_hands as joined_hands
from softgrasp.mechanics.hand_kinematics import synergy_weights as synergy_weights
from softgrasp.mechanics.hand_kinematics import variance_explained as variance_explained

NAMES: dict[str, tuple[str, ...]]
