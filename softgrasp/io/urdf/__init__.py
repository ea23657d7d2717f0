"""U(C)RDF, URDF with bendable segments: read, written, and converted to plain URDF."""

from softgrasp.assets import ROBOT_SUFFIXES
from softgrasp.io.urdf.reader import read_robot
from softgrasp.io.urdf.rigid import lower, rigid_urdf
from softgrasp.io.urdf.writer import robot_xml, write_robot

__all__ = [
    "ROBOT_SUFFIXES",
    "lower",
    "read_robot",
    "rigid_urdf",
    "robot_xml",
    "write_robot",
]
