"""A hydraulic arm keeps its curvature: a PID a bend drives the motors, a pull at the tip disturbs.

The motors turn screws that press water through tubes: the controller sees the delay of all of that.
"""

import numpy as np
from paper003.control import ArmBendPid

import softgrasp as sg

PERIOD, DURATION, PULL_FROM = 0.01, 4.0, 2.0  # [s]
WANTED = np.array([[2.5, 0.0], [-1.5, 1.5]])  # curvature of each section towards x and y [1/m]
PULL = {"force": (0.0, 0.3, 0.0), "frame": "base"}  # [N]


def main() -> None:
    arm = sg.hydraulics.load_hydraulic_arm("hydraulic_two_section")
    chain = sg.hydraulics.ArmChain(arm, links=2)
    actuators = sg.hydraulics.DriveStepper(sg.hydraulics.drive_model(arm), PERIOD)
    control = ArmBendPid(arm, PERIOD)
    print("time     curvatures [1/m]                         torques of the motors [N m]")
    for sample in range(1, round(DURATION / PERIOD) + 1):
        if chain.time > PULL_FROM - 0.5 * PERIOD:
            chain.load = arm.tip_load.replace(**PULL)
        target = WANTED * chain.lengths()[:, None]  # as bends [rad]
        torques = control.torques(target, chain.bends())
        chain.advance(actuators.step(torques), PERIOD)
        if sample % 25 == 0:
            result = "".join(f"{value:9.3f}" for value in chain.curvatures().ravel())
            print(f"{chain.time:5.2f} s{result}   {np.round(torques, 2)}")
    left = np.abs(chain.curvatures() - WANTED).max() / np.abs(WANTED).max()
    print(f"left of the largest curvature: {left:.2%}")


if __name__ == "__main__":
    main()
