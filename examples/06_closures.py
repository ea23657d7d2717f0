"""One hand, three objects, and every way in which the hand can close on them."""

import warnings

import softgrasp as sg

CLOSURES = {
    "position-increment": sg.PositionIncrementClosure(),
    "the same, no grip force": sg.PositionIncrementClosure(grip_force=None),
    "synergy-increment": sg.description.SynergyIncrementClosure(),
    "the same, soft": sg.description.SynergyIncrementClosure(synergy_stiffness=2.0),
    "force-limited, 5 N": sg.description.ForceLimitedClosure(force=5.0),
    "force-limited, 0.3 N·m": sg.description.ForceLimitedClosure(torque=0.3),
    "underactuated": sg.description.UnderactuatedClosure(),
    "the same, differential": sg.description.UnderactuatedClosure(differential=True),
    "joint-torque": sg.description.JointTorqueClosure(),
}


def main() -> None:
    warnings.simplefilter("ignore", sg.SoftgraspWarning)
    hand = sg.load_hand("four_finger")
    print(f"{'closure':24}{'object':12}{'squeeze':>10}{'palm':>9}{'contacts':>10}  held")
    for title, closure in CLOSURES.items():
        for name in ("sphere", "strawberry", "mug"):
            obj, hold = sg.load_object(name), sg.SuccessCriterion()
            scene = sg.GraspScene(hand=hand, object=obj, closure=closure, success=hold)
            result = sg.simulate(scene)
            row = int(result.hold.start_s / scene.control_period) if result.hold else -1
            forces = dict(
                zip(result.contact_bodies.tolist(), result.normal_force[row], strict=True)
            )
            palm = forces.pop("palm")
            touching = int(result.in_contact[row].sum())
            squeeze = f"{sum(forces.values()):8.1f} N{palm:7.1f} N"
            print(f"{title:24}{name:12}{squeeze}{touching:10}  {result.held}")


if __name__ == "__main__":
    main()
