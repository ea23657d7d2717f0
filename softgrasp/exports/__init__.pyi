from softgrasp.description.grasps import Grasp as Grasp
from softgrasp.description.grasps import GraspSet as GraspSet
from softgrasp.exports.episodes import Episode as Episode
from softgrasp.exports.episodes import episode_of as episode_of
from softgrasp.exports.episodes import write_lerobot as write_lerobot
from softgrasp.exports.episodes import write_minari as write_minari
from softgrasp.exports.grasps import grasp_set as grasp_set
from softgrasp.exports.grasps import load_grasps as load_grasps
from softgrasp.exports.grasps import save_grasps as save_grasps
from softgrasp.exports.rerun import write_rerun as write_rerun
from softgrasp.exports.usd import write_usd as write_usd

NAMES: dict[str, tuple[str, ...]]
