"""ODE's structures in the precision of a library, and the constants of its headers (0.16)."""

from __future__ import annotations

import ctypes
from typing import Any

from softgrasp.simulation.ode.library import Precision

INFINITY = float("inf")
LO_STOP, HI_STOP, VELOCITY, LARGEST_FORCE, NORMAL_CFM, STOP_ERP, STOP_CFM = 0, 1, 2, 5, 8, 9, 10
"""dParamLoStop … dParamStopCFM; dParamCFM is that of a motor."""
AMOTOR_USER = 0
BOUNCE, SOFT_ERP, SOFT_CFM, SLIP_1, SLIP_2, ROLLING, APPROX_1 = 4, 8, 16, 256, 512, 1024, 0x7000
"""dContactBounce … dContactApprox1."""
AXIS_DEPENDENT = 1
CAPSULE_CLASS, CYLINDER_CLASS, TRIMESH_CLASS = 2, 3, 8
SURFACE = (
    *("mu", "mu2", "rho", "rho2", "rhoN", "bounce", "bounce_vel", "soft_erp", "soft_cfm"),
    *("motion1", "motion2", "motionN", "slip1", "slip2"),
)


class Structures:
    """The types of one precision; names and order of the fields are ODE's."""

    def __init__(self, precision: Precision) -> None:
        real: Any = ctypes.c_double if precision == "double" else ctypes.c_float
        vector3, matrix3 = real * 4, real * 12
        self.real, self.vector3, self.matrix3 = real, vector3, matrix3
        self.Mass: Any = _made("dMass", [("mass", real), ("c", vector3), ("I", matrix3)])
        self.Surface: Any = _made(
            "dSurfaceParameters", [("mode", ctypes.c_int), *((name, real) for name in SURFACE)]
        )
        self.ContactGeom: Any = _made(
            "dContactGeom",
            [
                ("pos", vector3),
                ("normal", vector3),
                ("depth", real),
                ("g1", ctypes.c_void_p),
                ("g2", ctypes.c_void_p),
                ("side1", ctypes.c_int),
                ("side2", ctypes.c_int),
            ],
        )
        self.Contact: Any = _made(
            "dContact",
            [("surface", self.Surface), ("geom", self.ContactGeom), ("fdir1", vector3)],
        )
        self.Feedback: Any = _made(
            "dJointFeedback", [(name, vector3) for name in ("f1", "t1", "f2", "t2")]
        )


def _made(name: str, fields: list[tuple[str, Any]]) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": fields})
