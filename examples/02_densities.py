"""The same grasp with five materials: the contact stays as stiff as it was asked to be."""

import softgrasp as sg

hand = sg.load_hand("four_finger")
print("density  weight N  squeeze N  held   F/pen N/m")
for density in (160, 700, 2300, 7860, 19250):
    scene = sg.GraspScene(
        hand=hand,
        object=sg.load_object("sphere", density=density),
        grasp="precision",
        success=sg.SuccessCriterion(),
    )
    result = sg.simulate(scene)
    squeeze = result.normal_force[round(result.hold.start_s / scene.control_period)].sum()
    stiffness = max(result.contact_model.measured_stiffness_N_m.values(), default=float("nan"))
    print(
        f"{density:7d}  {result.hold.weight_N:8.2f}  {squeeze:9.1f}  {result.held!s:5}  "
        f"{stiffness:.0f}"
    )
