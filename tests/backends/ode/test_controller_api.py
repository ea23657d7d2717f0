"""Webots' ``controller`` module on top of ODE: what a controller sees and what its calls do."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from softgrasp.backends.ode.controller_api import OdeWorld, Session, Supervisor, install
from softgrasp.backends.wbt.parser import parse_world
from softgrasp.errors import SimulationError
from tests.backends.ode.worlds import velocity
from tests.conftest import Golden

pytestmark = pytest.mark.usefixtures("ode_library")

TEXT = """#VRML_SIM R2025a utf8
DEF INFO WorldInfo { basicTimeStep 2 physicsDisableLinearThreshold 0
  physicsDisableAngularThreshold 0
  contactProperties [ ContactProperties { material1 "pad" material2 "ball" bounce 0 } ] }
Viewpoint { }
DEF HAND Robot {
  translation 0 0 1 rotation 0 1 0 1.5707963267948966 name "hand" controller "job" supervisor TRUE
  customData "seven"
  children [
    HingeJoint {
      jointParameters HingeJointParameters { axis 0 1 0 springConstant 0.5 dampingConstant 0.5 }
      device [
        RotationalMotor { name "motor" maxTorque 2 maxVelocity 3 sound "" }
        PositionSensor { name "angle" }
      ]
      endPoint DEF LINK Solid {
        name "link"
        children [
          TouchSensor {
            translation -0.1 0 0 rotation 0 1 0 3.141592653589793 name "pad" contactMaterial "pad"
            type "force-3d" lookupTable [ ]
            boundingObject Box { size 0.02 0.4 0.4 }
            physics Physics { density -1 mass 0.1 centerOfMass [ 0 0 0 ]
              inertiaMatrix [ 1e-4 1e-4 1e-4 0 0 0 ] }
          }
        ]
        physics Physics { density -1 mass 0.1 centerOfMass [ 0 0 0 ]
          inertiaMatrix [ 1e-4 1e-4 1e-4 0 0 0 ] }
      }
    }
  ]
}
DEF BALL Solid { translation 0 0 1.13 name "ball" contactMaterial "ball"
  boundingObject Sphere { radius 0.02 }
  physics Physics { density -1 mass 0.2 centerOfMass [ 0 0 0 ]
    inertiaMatrix [ 1e-4 1e-4 1e-4 0 0 0 ] } }
"""


def session(text: str = TEXT) -> Session:
    tree = parse_world(text)
    made = Session(tree, OdeWorld(tree))
    install(made)
    return made


def ball_velocity(made: Session) -> list[float]:
    return velocity(made.world, "ball")[0].tolist()


def test_a_controller_finds_the_module_and_its_devices(capsys) -> None:
    session()
    from controller import Motor, PositionSensor, TouchSensor
    from controller import Supervisor as Imported

    robot = Imported()
    assert Imported is Supervisor
    for name, kind in {"motor": Motor, "angle": PositionSensor, "pad": TouchSensor}.items():
        assert isinstance(robot.getDevice(name), kind)
    assert robot.getDevice("finger") is None
    assert capsys.readouterr().err == "getDevice: no device 'finger'; known: motor, angle, pad\n"
    del sys.modules["controller"]


def test_steps_are_multiples_of_the_basic_one(golden: Golden) -> None:
    session()
    robot = Supervisor()
    assert [robot.step(2), robot.step(8), robot.step(0), robot.step(2.0)] == [0] * 4
    assert robot.getTime() == pytest.approx(0.012)
    golden.refused(lambda: robot.step(5), "step(5)", SimulationError)


def test_sensors_measure_in_every_basic_step(golden: Golden) -> None:
    session()
    robot = Supervisor()
    angle = robot.getDevice("angle")
    angle.enable(2)
    robot.getDevice("motor").setTorque(0.1)
    robot.step(2)
    assert angle.getValue() > 0.0
    golden.refused(lambda: angle.enable(4), "enable(4)", SimulationError)


def test_motors_are_commanded(capsys, digits: float, golden: Golden) -> None:
    session(text=TEXT.replace("WorldInfo {", "WorldInfo { gravity 0"))
    robot = Supervisor()
    motor, angle = robot.getDevice("motor"), robot.getDevice("angle")
    angle.enable(2)
    motor.setPosition(math.inf)
    motor.setVelocity(-0.5)
    robot.step(200)
    assert angle.getValue() == pytest.approx(-0.1, abs=2e-3)
    golden.refused(lambda: motor.setPosition(0.2), "motor motor", SimulationError)
    motor.setTorque(3.0)
    text = capsys.readouterr().err
    assert text == "motor motor: the requested torque 3 exceeds the available 2\n"
    motor.setTorque(0.05)
    robot.step(20_000)
    assert angle.getValue() == pytest.approx(0.1, abs=1e-4 + 10 * digits)


def test_a_force_sensor_reads_the_weight_on_it_in_its_local_axes() -> None:
    """The hand is turned by 90° about y and the pad by 180°: its +x points up."""
    made = session()
    robot = Supervisor()
    pad = robot.getDevice("pad")
    pad.enable(2)
    robot.step(2000)
    weight = 0.2 * 9.81
    assert pad.getValues() == pytest.approx([-weight, 0.0, 0.0], abs=2e-4)
    assert [pad.getNormalForce(), pad.getFrictionForce()] == pytest.approx([weight, 0.0], abs=2e-4)
    assert made.world.contacts.force_on(made.robot).normal == 0.0


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('type "force-3d"', 'type "bumper"', "TouchSensor.type"),
        ("lookupTable [ ]", "", "TouchSensor.lookupTable"),
        ("physicsDisableLinearThreshold 0", "", "WorldInfo.physicsDisableLinearThreshold"),
        ("WorldInfo {", "WorldInfo { defaultDamping Damping { }", "WorldInfo.defaultDamping"),
        ("maxTorque 2", "maxTorque 2 acceleration 3", "RotationalMotor.acceleration"),
        ("springConstant 0.5", "staticFriction 0.5", "HingeJointParameters.staticFriction"),
    ],
)
def test_fields_that_ode_does_not_simulate_are_refused(
    old: str, new: str, sentence: str, golden: Golden
) -> None:
    assert old in TEXT
    golden.refused(lambda: session(TEXT.replace(old, new)), sentence, SimulationError)


def test_a_supervisor_sees_where_nodes_are(golden: Golden) -> None:
    session()
    robot = Supervisor()
    hand, ball = robot.getFromDef("HAND"), robot.getFromDef("BALL")
    assert robot.getFromDef("NOTHING") is None
    assert hand.getPosition() == [0.0, 0.0, 1.0]
    rotated = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0]
    assert hand.getOrientation() == pytest.approx(rotated, abs=1e-12)
    robot.step(2000)
    assert ball.getPosition() == pytest.approx([0.0, 0.0, 1.13], abs=1e-3)
    golden.refused(lambda: robot.getFromDef("INFO").getPosition(), "node INFO", SimulationError)


def test_a_supervisor_changes_gravity_and_pushes(golden: Golden) -> None:
    made = session()
    robot = Supervisor()
    robot.getFromDef("INFO").getField("gravity").setSFFloat(0.0)
    ball = robot.getFromDef("BALL")
    ball.addForce([0.0, 0.0, 1.0], False)
    robot.step(10)
    assert ball_velocity(made) == pytest.approx([0, 0, 0.01], rel=1e-6, abs=1e-12)
    golden.refused(
        lambda: ball.getField("translationStep").setSFFloat(1.0),
        "field Solid.translationStep: only WorldInfo.gravity",
        SimulationError,
    )


def test_a_relative_force_is_in_the_axes_of_the_node() -> None:
    text = TEXT.replace("DEF BALL Solid {", "DEF BALL Solid { rotation 0 1 0 1.5707963267948966")
    made = session(text=text.replace("WorldInfo {", "WorldInfo { gravity 0"))
    robot = Supervisor()
    robot.getFromDef("BALL").addForce([-1.0, 0.0, 0.0], True)
    robot.step(2)
    assert ball_velocity(made) == pytest.approx([0.0, 0.0, 0.01], abs=1e-9)


def test_the_simulation_ends_with_the_status_of_quit() -> None:
    made = session()
    robot = Supervisor()
    assert made.status is None
    robot.simulationQuit(5)
    assert robot.step(2) == -1
    assert (made.status, robot.getTime()) == (5, 0.0)


def test_only_supervisors_may_read_the_world() -> None:
    session(text=TEXT.replace("supervisor TRUE", ""))
    with pytest.raises(SimulationError) as caught:
        Supervisor()
    assert str(caught.value) == "Robot hand: expected supervisor TRUE, found FALSE"


def test_one_robot_has_a_controller() -> None:
    with pytest.raises(SimulationError) as caught:
        session(text=TEXT.replace('controller "job"', 'controller "<none>"'))
    assert str(caught.value) == "expected one Robot with a controller, found none"
    two = TEXT + 'Robot { name "second" controller "other" }\n'
    with pytest.raises(SimulationError) as caught:
        session(text=two)
    assert str(caught.value) == "expected one Robot with a controller, found hand, second"


def test_steps_in_one_call_are_steps_one_by_one() -> None:
    ends = []
    for pieces in (1, 100):
        session()
        robot = Supervisor()
        robot.getDevice("motor").setTorque(0.3)
        for _ in range(pieces):
            robot.step(200 // pieces)
        ends.append(robot.getFromDef("BALL").getPosition())
    assert np.array_equal(*ends)
