from softgrasp.model import names as names
from softgrasp.model import visual as visual
from softgrasp.model.arm import add_arm as add_arm
from softgrasp.model.arm import hand_posture as hand_posture
from softgrasp.model.compile import compiled as compiled
from softgrasp.model.family import Family as Family
from softgrasp.model.hand import add_hand as add_hand
from softgrasp.model.hand import build_hand_spec as build_hand_spec
from softgrasp.model.object import object_pose as object_pose
from softgrasp.model.robot import add_bendable as add_bendable
from softgrasp.model.robot import bend_joints as bend_joints
from softgrasp.model.robot import robot_model as robot_model
from softgrasp.model.robot import robot_spec as robot_spec
from softgrasp.model.robot import segment_actuator_names as segment_actuator_names
from softgrasp.model.robot import slide_joints as slide_joints
from softgrasp.model.robot import twist_joints as twist_joints
from softgrasp.model.shapes import TOUCHING_GROUPS as TOUCHING_GROUPS
from softgrasp.model.shapes import VISUAL_GROUP as VISUAL_GROUP
from softgrasp.model.shapes import mass_properties as mass_properties
from softgrasp.model.soft_finger import finger_model as finger_model
from softgrasp.model.timestep import damped_spring_limit as damped_spring_limit
from softgrasp.model.timestep import spring_limit as spring_limit

NAMES: dict[str, tuple[str, ...]]
