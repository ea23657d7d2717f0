"""Twelve grasps from one plan, and the table that comes out."""

import sys

import softgrasp as sg

plan = sg.description.SweepPlan(
    scene=sg.GraspScene(
        hand=sg.load_hand("four_finger"),
        object=sg.load_object("sphere"),
        grasp="precision",
        success=sg.SuccessCriterion(),
    ),
    axes=(
        sg.description.Axis(path="object.density", values=(160.0, 2300.0, 7860.0)),
        sg.description.Axis(path="contact.static_friction", low=0.1, high=0.4, steps=4),
    ),
)
print(plan.size, "grasps")
try:
    table = sg.sweep(plan, workers=1)  # out="out/sweep" keeps rows, goes on after a kill
except sg.BackendUnavailable as missing:
    sys.exit(print(missing))
table["drop µm"] = (1e6 * table["hold_drop_m"]).round(1)
print(table.pivot(index="object.density", columns="contact.static_friction", values="drop µm"))
print(table["held"].sum(), "of", len(table), "are held")
