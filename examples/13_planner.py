"""How to grasp: twelve synthesized grasps of a cylinder, closed and ranked."""

import sys
import warnings

import softgrasp as sg

warnings.simplefilter("ignore", sg.SoftgraspWarning)
scene = sg.GraspScene(
    hand=sg.load_hand("four_finger"),
    object=sg.load_object("cylinder"),
    contact=sg.Contact(static_friction=0.3),
)
plan = sg.description.GraspPlan(scene=scene, candidates=12, top=3, seed=0)
try:
    planned = sg.plan_grasps(plan, workers=1)
except sg.BackendUnavailable as missing:
    sys.exit(print(missing))
print(planned.table["status"].value_counts().to_dict())
print(planned.table[["rank", "row", "score", "status", "predicted"]].head())
for position, best in enumerate(planned.top, start=1):
    result = sg.simulate(best.replace(success=sg.SuccessCriterion()))
    print(f"rank {position}: {result.message}; held against gravity: {result.held}")
