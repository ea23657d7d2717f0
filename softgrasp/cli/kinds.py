"""Kinds of things that the command line names."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What can be listed."""

    HANDS = "hands"
    OBJECTS = "objects"
    SCENES = "scenes"
    ROBOTS = "robots"
    HYDRAULIC_ARMS = "hydraulic-arms"
    FINGERS = "fingers"
    ARMS = "arms"
    TWINS = "twins"
    PRESSURE_FITS = "pressure-fits"
    REGISTER_MAPS = "register-maps"
    ROBOT_PROGRAMS = "robot-programs"
    PROBLEMS = "problems"
    CRITERIA = "criteria"
    BACKENDS = "backends"
    CLOSURES = "closures"
    CONTACT_MODELS = "contact-models"
    SENSORS = "sensors"


KINDS = {
    Kind.HANDS: "shipped hands, for grasp, view, plan and sweep",
    Kind.OBJECTS: "shipped objects",
    Kind.SCENES: "shipped scenes: a hand with an object and all else",
    Kind.ROBOTS: "robots in U(C)RDF",
    Kind.HYDRAULIC_ARMS: "arms of soft sections that water drives",
    Kind.FINGERS: "soft fingers, for --finger and calibrate",
    Kind.ARMS: "arms that carry a hand",
    Kind.TWINS: "digital twins, for twin run",
    Kind.PRESSURE_FITS: "bends of a twin's finger against pressure",
    Kind.REGISTER_MAPS: "registers of pressure controllers on Modbus TCP",
    Kind.ROBOT_PROGRAMS: "motions of the simulated robot of a twin",
    Kind.PROBLEMS: "calibration problems",
    Kind.CRITERIA: "what held means, for --criterion",
    Kind.BACKENDS: "engines, for --backend",
    Kind.CLOSURES: "ways to close a hand, for --closure",
    Kind.CONTACT_MODELS: "contact models, for --contact-model",
    Kind.SENSORS: "sensors, for --sensor",
}
