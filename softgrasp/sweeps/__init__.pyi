from softgrasp.sweeps.ensemble import EnsembleResult as EnsembleResult
from softgrasp.sweeps.ensemble import grasp_ensemble as grasp_ensemble
from softgrasp.sweeps.ensemble import load_ensemble_result as load_ensemble_result
from softgrasp.sweeps.planner import PlannedGrasps as PlannedGrasps
from softgrasp.sweeps.planner import plan_grasps as plan_grasps
from softgrasp.sweeps.planner import plan_imported as plan_imported
from softgrasp.sweeps.run import Shard as Shard
from softgrasp.sweeps.run import merge as merge
from softgrasp.sweeps.run import sweep as sweep
from softgrasp.sweeps.table import COLUMNS as COLUMNS
from softgrasp.sweeps.table import Row as Row

NAMES: dict[str, tuple[str, ...]]
