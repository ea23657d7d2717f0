"""U(C)RDF (paper 002): URDF with bendable segments, read, written, and lowered to plain URDF."""

from softgrasp.io.urdf.reader import ROBOT_SUFFIXES, read_robot
from softgrasp.io.urdf.writer import lowered, rigid_urdf, robot_xml, write_robot

__all__ = ["ROBOT_SUFFIXES", "lowered", "read_robot", "rigid_urdf", "robot_xml", "write_robot"]
