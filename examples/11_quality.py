"""How good is this grasp: along the run, and at its end, beside what a textbook says."""

import numpy as np

import softgrasp as sg

# three contacts around a ball of 30 mm, as in a textbook
angles = np.radians([0, 120, 240])
around = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)])
epsilon = sg.quality.epsilon(0.03 * around, -around, mu=0.5, torque_scale=0.03)
print(f"three contacts on paper: epsilon {epsilon:.3f}")

# and what the simulated hand has got hold of
scene = sg.GraspScene(
    hand=sg.load_hand("four_finger"),
    object=sg.load_object("sphere"),
    grasp="precision",
    success=sg.SuccessCriterion(),
)
result = sg.simulate(scene)
analysis = sg.analysis_of(result)
print(f"{len(analysis.points)} contacts, G is {analysis.G.shape}, J is {analysis.J.shape}")
print("smallest singular value of G:", round(sg.quality.min_singular_value(analysis.G), 3))
print("isotropy:", round(sg.quality.isotropy(analysis.G), 3))
log = result.quality_log  # contacts at 100 Hz; epsilon is computed when it is asked for
print(f"epsilon at the end {log.epsilon[-1]:.3f}; force closure since {log.closed_at:.2f} s")
