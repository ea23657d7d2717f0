"""ODE's C functions for Python: a table of their types, and nothing else."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.simulation.ode.library import OdeLibrary, load_library
from softgrasp.simulation.ode.structs import Structures

Array = NDArray[np.float64]

NearCallback: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

FUNCTIONS = """
InitODE2:i i | AllocateODEDataForThread:i u | RandSetSeed: u | CloseODE:
WorldCreate:p | WorldDestroy: p | WorldSetGravity: prrr | WorldSetERP: pr | WorldSetCFM: pr
WorldStep:i pr | WorldSetAutoDisableFlag: pi | WorldSetAutoDisableTime: pr
WorldSetAutoDisableSteps: pi | WorldSetAutoDisableLinearThreshold: pr
WorldSetAutoDisableAngularThreshold: pr
BodyCreate:p p | BodySetMass: pp | BodySetPosition: prrr | BodySetRotation: pp
BodyGetPosition:v p | BodyGetRotation:v p | BodyGetLinearVel:v p | BodyGetAngularVel:v p
BodySetLinearVel: prrr | BodySetAngularVel: prrr | BodyAddForce: prrr | BodyAddTorque: prrr
BodyEnable: p | BodyIsEnabled:i p
JointCreateHinge:p pp | JointCreateSlider:p pp | JointCreateAMotor:p pp | JointCreateLMotor:p pp
JointCreateContact:p ppp | JointAttach: ppp | JointSetFeedback: pp
JointGroupCreate:p i | JointGroupEmpty: p
JointSetHingeAnchor: prrr | JointSetHingeAxis: prrr | JointGetHingeAngle:r p
JointGetHingeAngleRate:r p | JointAddHingeTorque: pr | JointSetHingeParam: pir
JointSetSliderAxis: prrr | JointGetSliderPosition:r p | JointGetSliderPositionRate:r p
JointAddSliderForce: pr | JointSetSliderParam: pir
JointSetAMotorMode: pi | JointSetAMotorNumAxes: pi | JointSetAMotorAxis: piirrr
JointSetAMotorAngle: pir | JointSetAMotorParam: pir
JointSetLMotorNumAxes: pi | JointSetLMotorAxis: piirrr | JointSetLMotorParam: pir
HashSpaceCreate:p p | SpaceDestroy: p | SpaceCollide: ppn
CreateSphere:p pr | CreateBox:p prrr | CreateCapsule:p prr | CreateCylinder:p prr
CreatePlane:p prrrr | CreateTriMesh:p ppppp | GeomTriMeshDataCreate:p
GeomTriMeshDataBuildDouble: ppiipii | GeomTriMeshDataBuildSingle: ppiipii
GeomSetBody: pp | GeomSetPosition: prrr | GeomSetRotation: pp | GeomSetOffsetPosition: prrr
GeomSetOffsetRotation: pp | GeomSetCategoryBits: pu | GeomSetCollideBits: pu | GeomGetClass:i p
GeomGetPosition:v p | GeomGetRotation:v p | GeomCapsuleGetParams: ppp
GeomCylinderGetParams: ppp
Collide:i ppipi
"""
"""Name without its d : result and arguments; i int, u unsigned, p pointer, r real, v pointer to
reals, n the callback of ``dSpaceCollide``."""


class Ode:
    """The functions of a library under their names without the d, and its structures.

    Args:
        library: From ``load_library``.
    """

    def __init__(self, library: OdeLibrary) -> None:
        self.library = library
        self.types = Structures(library.precision)
        real = self.types.real
        kinds: dict[str, Any] = {
            "i": ctypes.c_int,
            "u": ctypes.c_ulong,
            "p": ctypes.c_void_p,
            "r": real,
            "v": ctypes.POINTER(real),
            "n": NearCallback,
        }
        for entry in FUNCTIONS.replace("|", "\n").split("\n"):
            name, _, signature = entry.strip().partition(":")
            if name:
                result, _, arguments = signature.partition(" ")
                function = getattr(library.handle, f"d{name}")
                function.restype = kinds[result] if result else None
                function.argtypes = [kinds[letter] for letter in arguments]
                setattr(self, name, function)
        self.number = np.float64 if library.precision == "double" else np.float32

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(f"ODE's d{name} is not in the table of functions")

    def matrix3(self, rotation: Array) -> Any:
        """A (3, 3) matrix as dMatrix3, whose rows have four numbers."""
        rows = np.zeros((3, 4))
        rows[:, :3] = rotation
        return self.types.matrix3(*rows.ravel().tolist())


@lru_cache(maxsize=1)
def load() -> Ode:
    """ODE, initialised once for the process.

    ODE's own handlers write its messages and errors to stderr; after an error they end the
    process, which is why worlds run in one of their own.

    Raises:
        BackendUnavailable: There is no library.
    """
    ode = Ode(load_library())
    ode.InitODE2(0)
    ode.AllocateODEDataForThread(0xFFFFFFFF)
    ode.RandSetSeed(0)
    return ode
