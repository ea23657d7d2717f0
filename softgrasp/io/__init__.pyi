from softgrasp.evaluation.result_builder import write_joint_states as write_joint_states
from softgrasp.evaluation.result_files import load_result as load_result
from softgrasp.evaluation.result_files import save_result as save_result
from softgrasp.io.arm import load_arm as load_arm
from softgrasp.io.hand import load_finger as load_finger
from softgrasp.io.hand import save_finger as save_finger
from softgrasp.io.hand import save_hand as save_hand
from softgrasp.io.load import load_hand as load_hand
from softgrasp.io.load import load_object as load_object
from softgrasp.io.load import load_robot as load_robot
from softgrasp.io.scene import load_criterion as load_criterion
from softgrasp.io.scene import load_release as load_release
from softgrasp.io.scene import load_scene as load_scene
from softgrasp.io.scene import save_release as save_release
from softgrasp.io.scene import save_scene as save_scene
from softgrasp.model.export import save_urdf as save_urdf

NAMES: dict[str, tuple[str, ...]]
