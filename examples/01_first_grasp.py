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
print(f"held: {result.held}, dropped {result.hold.drop_m * 1e6:.1f} µm under {result.hold.weight_N:.2f} N")
for contact in result.contacts:
    if contact.in_contact:
        print(f"{contact.body}: {contact.normal_force_N:.1f} N at {contact.point_m}")
result.save("out/first_grasp")
