"""How the fingers of a hand hang together: what stands on, follows and moves what.

A finger stands on the palm, or on a body of an earlier finger; so chains make trees. A joint
without a drive of its own follows another one, or is passive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from softgrasp.description.coupling import Coupling
from softgrasp.description.finger import Finger
from softgrasp.description.hand_model import HandModel
from softgrasp.description.problems import FieldError, refuse_twins
from softgrasp.description.tendon import Tendon
from softgrasp.errors import did_you_mean


def check_stands(fingers: Sequence[Finger]) -> None:
    """Refuse a finger that stands on nothing that comes before it.

    Raises:
        FieldError: Its ``on`` names no body of an earlier finger.
    """
    known: list[str] = []
    for index, finger in enumerate(fingers):
        if finger.on and finger.on not in known:
            hint = f"; {did_you_mean(finger.on, known)}" if known else ""
            raise FieldError(
                f"expected a body of an earlier finger, found '{finger.on}'{hint}",
                "fingers",
                index,
                "on",
            )
        known += [finger.body_of(row) for row in finger.phalanges]


def check_couplings(fingers: Sequence[Finger], couplings: Sequence[Coupling]) -> None:
    """Refuse couplings of joints that do not exist, have a drive, or follow in a circle.

    Raises:
        FieldError: Names the coupling.
    """
    rows = {finger.joint_of(row): row for finger in fingers for row in finger.phalanges}
    leader_of: dict[str, str] = {}
    for index, coupling in enumerate(couplings):
        for field in ("joint", "leader"):
            name = getattr(coupling, field)
            if name not in rows:
                raise FieldError(
                    f"expected a joint of the hand, found '{name}'; {did_you_mean(name, rows)}",
                    "couplings",
                    index,
                    field,
                )
        name = coupling.joint
        if rows[name].driven:
            raise FieldError(
                f"expected a joint with driven: false, found '{name}', which has a drive",
                "couplings",
                index,
                "joint",
            )
        if name in leader_of:
            raise FieldError(
                f"expected one coupling a joint, found two of '{name}'", "couplings", index, "joint"
            )
        leader_of[name] = coupling.leader
        if name in _leaders(name, leader_of):
            raise FieldError(
                f"expected a leader that does not follow, found a circle through '{name}'",
                "couplings",
                index,
                "leader",
            )


def check_tendons(
    fingers: Sequence[Finger], couplings: Sequence[Coupling], tendons: Sequence[Tendon]
) -> None:
    """Refuse tendons over joints that do not exist, follow another one, or have a tendon already.

    Raises:
        FieldError: Names the tendon.
    """
    known = [finger.joint_of(row) for finger in fingers for row in finger.phalanges]
    followers = {coupling.joint for coupling in couplings}
    refuse_twins(
        ((tendon.name, ("tendons", index, "name")) for index, tendon in enumerate(tendons)),
        "tendon",
    )
    taken: dict[str, str] = {}
    for index, tendon in enumerate(tendons):
        for position_index, pulley in enumerate(tendon.pulleys):
            name, where = pulley.joint, ("tendons", index, "pulleys", position_index, "joint")
            if name not in known:
                raise FieldError(
                    f"expected a joint of the hand, found '{name}'; {did_you_mean(name, known)}",
                    *where,
                )
            if name in followers:
                raise FieldError(
                    f"expected a joint that does not follow another one, found '{name}'", *where
                )
            if name in taken:
                raise FieldError(
                    f"expected a joint without a tendon, found '{name}', over which tendon "
                    f"'{taken[name]}' runs",
                    *where,
                )
            taken[name] = tendon.name


def _leaders(name: str, leader_of: dict[str, str]) -> Iterator[str]:
    """The joints that one follows, the nearest first; a circle is gone round once."""
    seen: set[str] = set()
    while name in leader_of and name not in seen:
        seen.add(name)
        name = leader_of[name]
        yield name


def moved_bodies(
    fingers: Sequence[Finger], couplings: Sequence[Coupling]
) -> dict[str, tuple[str, ...]]:
    """Bodies that can touch and that a joint moves, with those that follow it, by its name.

    The paper's rule is that a joint stops where its phalanx or a later one touches
    (Pozzi et al. 2022, §2.2.3).
    """
    behind = {
        finger.joint_of(row): _behind(fingers, finger, index)
        for finger in fingers
        for index, row in enumerate(finger.phalanges)
    }
    leader_of = {coupling.joint: coupling.leader for coupling in couplings}
    moved = {name: dict.fromkeys(bodies) for name, bodies in behind.items()}
    for follower in leader_of:
        for leader in _leaders(follower, leader_of):
            moved[leader] |= dict.fromkeys(behind[follower])
    return {name: tuple(bodies) for name, bodies in moved.items()}


def _behind(fingers: Sequence[Finger], finger: Finger, index: int) -> list[str]:
    """Bodies that can touch from a row of a finger outwards, with what stands on them."""
    rows = finger.phalanges[index:]
    stands = {finger.body_of(row) for row in rows}
    bodies = [body for row in rows for body in finger.bodies_of(row)]
    for other in fingers:
        if other.on in stands:
            bodies += _behind(fingers, other, 0)
    return bodies


def led_joints(
    model: HandModel, fingers: Sequence[Finger], targets: Sequence[float]
) -> dict[str, float]:
    """Joints that the drives of a model lead, by name, as far as their limits let them [rad or m].

    Args:
        model: The model.
        fingers: What moves in it.
        targets: One a drive, in its unit.
    """
    limits = {finger.joint_of(row): row.limits for finger in fingers for row in finger.phalanges}
    led = {}
    for actuator, target in zip(model.actuators, targets, strict=True):
        for move in actuator.moves:
            low, high = limits[move.joint]
            led[move.joint] = min(max(move.ratio * target + move.at, low), high)
    return led


def posture_of(
    fingers: Sequence[Finger], couplings: Sequence[Coupling], led: Mapping[str, float]
) -> dict[str, float]:
    """Variables of all joints of the rigid fingers, by name, with some of them given.

    Joints that follow stand where their leaders have them; others where they start.

    Args:
        fingers: The rigid fingers.
        couplings: What follows what.
        led: Joint variables that are given, by name [rad or m].
    """
    values = {finger.joint_of(row): row.start for finger in fingers for row in finger.phalanges}
    values |= led
    by_joint = {coupling.joint: coupling for coupling in couplings}
    settled = set(values) - set(by_joint)

    def settle(name: str) -> float:
        if name not in settled:
            coupling = by_joint[name]
            values[name] = coupling.ratio * settle(coupling.leader) + coupling.offset
            settled.add(name)
        return values[name]

    for name in by_joint:
        settle(name)
    return values
