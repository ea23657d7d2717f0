"""Close a hand on a strawberry, hold it against gravity, and keep everything."""

import softgrasp as sg

scene = sg.GraspScene(
    hand=sg.load_hand("four_finger"),
    object=sg.load_object("strawberry"),
    grasp="precision",
    success=sg.SuccessCriterion(),  # gravity grows after the closure; did the object stay?
)
result = sg.simulate(scene)

print(result.message)
drop, weight = result.hold.drop_m, result.hold.weight_N
print(f"held: {result.held}, dropped {drop * 1e6:.1f} µm under {weight:.2f} N")
for contact in result.contacts:
    if contact.in_contact:
        print(f"{contact.body}: {contact.normal_force_N:.1f} N at {contact.point_m}")
result.save("out/first_grasp")
