"""Controller of a softgrasp world: closes the hand and records joints, object and contact forces.

Runs in Webots and in the emulation of softgrasp.backends.ode. Needs the standard library, Webots'
module ``controller``, and ``laws.py`` beside it, a copy of softgrasp/sim/laws.py: the same debounce
and increments as in MuJoCo. The job is a JSON file beside this one whose name is the first
argument; softgrasp/backends/webots/project.py writes it.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from controller import Supervisor
from laws import GRIP_INTERVAL, DebouncedFlags, debounce, free_actuators, grip_targets, next_targets


class Joint:
    """A joint of the world: its position sensor and, where driven, its motor with the servo law."""

    def __init__(self, robot, properties, step):
        """Find the devices; a motor without command would hold the joint."""
        self.properties, self.step = properties, step
        self.sensor = robot.getDevice(properties["sensor"])
        self.sensor.enable(robot_step(step))
        self.motor = robot.getDevice(properties["motor"]) if properties["motor"] else None
        self.position, self.speed = properties["start"], 0.0
        if properties["mode"] == "velocity":
            self.motor.setPosition(float("inf"))
            self.motor.setVelocity(0.0)
        elif self.motor is not None:
            self._push(0.0)

    def sample(self):
        """Read the sensor after a step."""
        position = self.properties["zero"] + self.sensor.getValue()
        self.position, self.speed = position, (position - self.position) / self.step

    def actuate(self, targets, period):
        """Command the motor for the next step.

        The spring and the damper of the servo are in the world, where the engine evaluates them
        implicitly; the motor applies the part that depends on the targets.
        """
        if self.motor is None:
            return
        properties = self.properties
        if properties["mode"] == "velocity":
            step = targets[properties["follows"]] - self.begin(targets)
            self.motor.setVelocity(step / period)
            return
        torque = properties["offset"] + properties["inertia_rate"] * self.speed
        for actuator, coefficient in properties["actuators"]:
            torque += coefficient * targets[actuator]
        servo = properties["servo"]
        if servo is not None:
            torque += self._beyond_limit(servo, targets)
        self._push(torque)

    def begin(self, targets):
        """Return the previous target of a prescribed joint, from which it moves to the next one."""
        before = self.properties.get("before", self.properties["start"])
        self.properties["before"] = targets[self.properties["follows"]]
        return before

    def _beyond_limit(self, servo, targets):
        """Return the torque to subtract where the servo is at its force limit."""
        error = targets[servo["actuator"]] - self.position
        torque = servo["stiffness"] * error - servo["damping"] * self.speed
        limited = min(max(torque, -servo["force_limit"]), servo["force_limit"])
        if limited == torque:
            return 0.0
        return limited - torque + servo["spare_damping"] * self.speed

    def _push(self, torque):
        if self.properties["slides"]:
            self.motor.setForce(torque)
        else:
            self.motor.setTorque(torque)


class Touch:
    """Contact force of one body of the hand."""

    def __init__(self, robot, properties, step, object_name, floor):
        """Switch the sensor on.

        The sensor of Webots also measures its weight and inertia: forces below the floor are no
        contact.
        """
        self.sensor = robot.getDevice(properties["sensor"])
        self.sensor.enable(robot_step(step))
        self.object_node, self.floor = object_name, floor
        self.exact = hasattr(self.sensor, "getNormalForce")

    def forces(self):
        """Normal force and friction [N]; the sensor of Webots only measures the total force."""
        sensor, other = self.sensor, self.object_node
        if self.exact:
            return sensor.getNormalForce(other), sensor.getFrictionForce(other)
        force = math.sqrt(sum(part * part for part in self.sensor.getValues()))
        return (force if force > self.floor else 0.0), 0.0


class Job:
    """One controller run: the closure of the hand, then the hold test or lift."""

    def __init__(self, robot, properties):
        """Start from the poses in the world."""
        self.robot, self.properties = robot, properties
        self.step, self.period = properties["timestep_s"], properties["control_period_s"]
        self.joints = [Joint(robot, joint, self.step) for joint in properties["joints"]]
        object_name, floor = properties["object"], properties["touch_floor_N"]
        self.touches = [
            Touch(robot, body, self.step, object_name, floor) for body in properties["bodies"]
        ]
        self.object_node = robot.getFromDef(object_name) if object_name else None
        self.lifted = [
            (robot.getFromDef(name), weight) for name, weight in properties["compensated"].items()
        ]
        self.field = robot.getFromDef("WORLD").getField("gravity")
        self.gravity = properties["gravity_m_s2"]
        self.targets = list(properties["actuators"]["start"])
        self.contact = DebouncedFlags.initial(len(self.touches))
        self.idle, self.diverged = 0, False
        names = ("position", "target", "object", "normal", "friction", "in_contact")
        self.rows = {name: [] for name in names}
        self.changed = []
        self.hold_from = None

    def run(self):
        """Run all phases; return the result."""
        for phase in self.properties["phases"]:
            if self.diverged:
                break
            self._run_phase(phase)
        return {
            "softgrasp_result": 1,
            "rows": self.rows,
            "changes": self.changed,
            "hold_from": self.hold_from,
            "idle": self.idle,
            "in_contact": self.contact.active,
            "diverged": self.diverged,
        }

    def _run_phase(self, phase):
        if phase["holds"]:
            self.hold_from = len(self.rows["target"]) - 1
        limit = phase["idle_limit"]
        if limit is None:
            limit = phase["samples"] + self.idle + 1
        for sample in range(phase["samples"]):
            if phase["gravity"]:
                self._weigh(phase["gravity"][sample])
            led = phase["path"][min(sample, len(phase["path"]) - 1)] if phase["path"] else []
            if not self._sample(led):
                self.diverged = True
                return
            if phase["limits_grip"] and (len(self.rows["target"]) - 1) % GRIP_INTERVAL == 0:
                self._limit_grip()
            if self.idle >= limit:
                break
        if phase["limits_grip"]:
            self._limit_grip()

    def _limit_grip(self):
        """Limit the leads of all servos that contact has stopped."""
        free = free_actuators(self.properties["actuators"]["stops"], self.contact.active)
        self._limit([not joint for joint in free])

    def _limit(self, limited):
        actuators, joints = self.properties["actuators"], self.joints
        positions = [0.0 if at is None else joints[at].position for at in actuators["joints"]]
        law = (actuators["stops"], actuators["leads"], self.contact.active)
        self.targets = grip_targets(self.targets, positions, limited, *law)

    def _weigh(self, gravity):
        if gravity != self.gravity:
            self.gravity = gravity
            self.field.setSFFloat(gravity)

    def _sample(self, led):
        """Step, measure, detect contacts, command, record; False where the motion diverged."""
        forces = [(0.0, 0.0)] * len(self.touches)
        if self.rows["target"]:
            if not self._advance():
                return False
            forces = [touch.forces() for touch in self.touches]
        closure = self.properties["closure"]
        normal = [force for force, _ in forces]
        free = self._free()
        if closure:
            threshold, samples = closure["threshold"], closure["samples"]
            self.contact = debounce(normal, threshold, samples, self.contact)
        if any(self.contact.changes):
            self.changed.append([len(self.rows["target"]), self.contact.changes])
            now = self._free()
            self._limit([free[index] and not after for index, after in enumerate(now)])
        before = self.targets
        self.targets = self._next(led)
        self.idle = self.idle + 1 if self.targets == before else 0
        for joint in self.joints:
            if joint.properties["mode"] == "velocity":
                joint.actuate(self.targets, self.period)
        self._record(normal, [force for _, force in forces])
        return True

    def _advance(self):
        """Simulate one control period; servos are commanded before every time step."""
        for _ in range(self.properties["substeps"]):
            for joint in self.joints:
                if joint.properties["mode"] == "torque":
                    joint.actuate(self.targets, self.period)
            if self.gravity:
                for node, mass in self.lifted:
                    node.addForce([0.0, 0.0, mass * self.gravity], False)
            if self.robot.step(robot_step(self.step)) == -1:
                return False
            for joint in self.joints:
                joint.sample()
                if not abs(joint.speed) < self.properties["largest_speed"]:
                    return False
        return True

    def _free(self):
        """Return which actuators may move: after the closure none, unless it stays on."""
        stops = self.properties["actuators"]["stops"]
        if self.hold_from is not None and not self.properties.get("stays_on"):
            return [False] * len(stops)
        return free_actuators(stops, self.contact.active)

    def _next(self, led):
        actuators = self.properties["actuators"]
        limits = (actuators["lower"], actuators["upper"])
        targets = next_targets(self.targets, actuators["increments"], self._free(), *limits)
        if led:
            targets[len(targets) - len(led) :] = led
        return targets

    def _record(self, normal, friction):
        rows = self.rows
        rows["position"].append([joint.position for joint in self.joints])
        rows["target"].append(list(self.targets))
        if self.object_node is not None:
            node = self.object_node
            rows["object"].append([*node.getPosition(), *node.getOrientation()])
        rows["normal"].append(normal)
        rows["friction"].append(friction)
        rows["in_contact"].append(self.contact.active)


def robot_step(seconds):
    """Convert a step [s] to milliseconds, whole for Webots; ODE takes fractions."""
    milliseconds = 1e3 * seconds
    whole = round(milliseconds)
    return whole if abs(milliseconds - whole) < 1e-9 else milliseconds


def main():
    """Run the job file that the first argument names, write its result, end the simulation."""
    here = Path(__file__).resolve().parent
    job = json.loads((here / sys.argv[1]).read_text(encoding="utf-8"))
    robot = Supervisor()
    result = Job(robot, job).run()
    target = (here / job["result"]).resolve()
    part = target.with_name(target.name + ".part")
    part.write_text(json.dumps(result), encoding="utf-8")
    part.replace(target)
    robot.step(robot_step(job["timestep_s"]))  # otherwise Webots may lose the last messages
    robot.simulationQuit(0)


if __name__ == "__main__":
    main()
