from softgrasp.comparison.compare import CrosscheckResult as CrosscheckResult
from softgrasp.comparison.compare import crosscheck as crosscheck
from softgrasp.comparison.compare import load_crosscheck as load_crosscheck
from softgrasp.comparison.compare import save_crosscheck as save_crosscheck
from softgrasp.comparison.criteria import Tolerances as Tolerances
from softgrasp.comparison.dexgraspbench import BenchmarkRow as BenchmarkRow
from softgrasp.comparison.dexgraspbench import GraspBenchmark as GraspBenchmark
from softgrasp.comparison.dexgraspbench import diversity as diversity
from softgrasp.report.comparison import write_crosscheck_report as write_crosscheck_report

NAMES: dict[str, tuple[str, ...]]
