from softgrasp.checks.json_schema import schema_of as schema_of
from softgrasp.checks.repair import Repair as Repair
from softgrasp.checks.repair import repair_robot as repair_robot
from softgrasp.checks.repair import repairs as repairs
from softgrasp.checks.report import Finding as Finding
from softgrasp.checks.report import Inspection as Inspection

NAMES: dict[str, tuple[str, ...]]
