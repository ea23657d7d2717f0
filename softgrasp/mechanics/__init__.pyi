from softgrasp.mechanics.actuation import Allocation as Allocation
from softgrasp.mechanics.camera import deproject as deproject
from softgrasp.mechanics.camera import distort as distort
from softgrasp.mechanics.camera import project as project
from softgrasp.mechanics.camera import undistort as undistort
from softgrasp.mechanics.contact_stiffness import hertz_patch_radius as hertz_patch_radius
from softgrasp.mechanics.hand_kinematics import PlacedHand as PlacedHand
from softgrasp.mechanics.hand_kinematics import forward_kinematics as forward_kinematics
from softgrasp.mechanics.hand_kinematics import join_hands as join_hands
from softgrasp.mechanics.hand_kinematics import synergy_weights as synergy_weights
from softgrasp.mechanics.hand_kinematics import variance_explained as variance_explained
from softgrasp.mechanics.inverse_kinematics import nearest_posture as nearest_posture
from softgrasp.mechanics.retargeting import RetargetedPosture as RetargetedPosture
from softgrasp.mechanics.retargeting import finger_lines as finger_lines
from softgrasp.mechanics.retargeting import imitate_fingers as imitate_fingers
from softgrasp.mechanics.retargeting import retarget as retarget
from softgrasp.mechanics.robot_kinematics import origin_frame as origin_frame
from softgrasp.mechanics.trajectory import Quintic as Quintic
from softgrasp.mechanics.transforms import Array as Array
from softgrasp.mechanics.transforms import position_of as position_of
from softgrasp.mechanics.transforms import quaternion_of as quaternion_of
from softgrasp.mechanics.transforms import relative_quaternions as relative_quaternions
from softgrasp.mechanics.transforms import rotation_angles as rotation_angles
from softgrasp.mechanics.transforms import transform as transform

NAMES: dict[str, tuple[str, ...]]
