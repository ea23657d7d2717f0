"""C functions and structures of ODE 0.16 for Python (ctypes), and the search for its library.

The library is the one that ``SOFTGRASP_ODE_LIB`` names (a file, or ``dartpy``), that of the
system, or the one in the dartpy wheel. Only double precision is taken: in single precision the
direct solver ends the process on grasps with contacts that resist spin, where one matrix has the
inverse inertias of phalanges (4e6 1/(kg·m²)) and inverse masses (10 to 50 1/kg). Py3ODE was
considered: it needs a compiler and lacks the spring motors and contact feedback used here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import BackendUnavailable

Array = NDArray[np.float64]
NearCallback: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
FUNCTIONS = """
InitODE2:i i | AllocateODEDataForThread:i u | RandSetSeed: u
WorldCreate:p | WorldSetGravity: prrr | WorldSetERP: pr | WorldSetCFM: pr | WorldStep:i pr
BodyCreate:p p | BodySetMass: pp | BodySetPosition: prrr | BodySetRotation: pp
BodyGetPosition:v p | BodyGetRotation:v p | BodyGetLinearVel:v p | BodyGetAngularVel:v p
BodySetLinearVel: prrr | BodySetAngularVel: prrr | BodyAddForce: prrr
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
HashSpaceCreate:p p | SpaceCollide: ppn
CreateSphere:p pr | CreateBox:p prrr | CreateCapsule:p prr | CreateCylinder:p prr
CreatePlane:p prrrr | CreateTriMesh:p ppppp | GeomTriMeshDataCreate:p
GeomTriMeshDataBuildDouble: ppiipii
GeomSetBody: pp | GeomSetPosition: prrr | GeomSetRotation: pp | GeomSetOffsetPosition: prrr
GeomSetOffsetRotation: pp | GeomSetCategoryBits: pu | GeomSetCollideBits: pu | GeomGetClass:i p
GeomGetPosition:v p | GeomGetRotation:v p | GeomCapsuleGetParams: ppp
GeomCylinderGetParams: ppp
Collide:i ppipi
"""
"""Name without the d, result and arguments: i int, u unsigned, p pointer, r real, v pointer to
reals, n callback of ``dSpaceCollide``."""
Real: Any = ctypes.c_double
Vector3, Matrix3 = Real * 4, Real * 12
INFINITY = float("inf")
LO_STOP, HI_STOP, VELOCITY, LARGEST_FORCE, NORMAL_CFM, STOP_ERP, STOP_CFM = 0, 1, 2, 5, 8, 9, 10
"""dParamLoStop … dParamStopCFM; dParamCFM is that of a motor."""
AMOTOR_USER = 0
BOUNCE, SOFT_ERP, SOFT_CFM, ROLLING, APPROX_1 = 4, 8, 16, 1024, 0x7000
"""dContactBounce … dContactApprox1."""
AXIS_DEPENDENT = 1
CAPSULE_CLASS, CYLINDER_CLASS, TRIMESH_CLASS = 2, 3, 8
VARIABLE = "SOFTGRASP_ODE_LIB"
"""Environment variable with the path of a library, which has precedence."""
SYSTEM_NAMES = ("libode.so.8", "libode.so", "libode.dylib", "ode_double.dll", "ode.dll")
WHEEL = "dartpy"
"""Value of ``SOFTGRASP_ODE_LIB`` for the library in the wheel, whatever the system has."""
WHEEL_FILE = re.compile(r"(lib)?ode(_double)?[-.].*(so|dylib|dll)")
"""Start of the name of ODE's file in the wheel, before a hash and the version."""
DOUBLE = "ODE_double_precision"
"""Build option of the libraries that are taken."""


# C structures of double precision, with the names and order of fields of ODE


class Mass(ctypes.Structure):
    """Mass, centre of mass and inertia (dMass)."""

    _fields_ = [("mass", Real), ("c", Vector3), ("I", Matrix3)]


class Surface(ctypes.Structure):
    """Parameters of a contact (dSurfaceParameters)."""

    _fields_ = [
        ("mode", ctypes.c_int),
        *((name, Real) for name in ("mu", "mu2", "rho", "rho2", "rhoN", "bounce", "bounce_vel")),
        *((name, Real) for name in ("soft_erp", "soft_cfm", "motion1", "motion2", "motionN")),
        *((name, Real) for name in ("slip1", "slip2")),
    ]


class ContactGeom(ctypes.Structure):
    """A point of contact of two geometries (dContactGeom)."""

    _fields_ = [
        *(("pos", Vector3), ("normal", Vector3), ("depth", Real)),
        *(("g1", ctypes.c_void_p), ("g2", ctypes.c_void_p)),
        *(("side1", ctypes.c_int), ("side2", ctypes.c_int)),
    ]


class Contact(ctypes.Structure):
    """A contact of two bodies (dContact)."""

    _fields_ = [("surface", Surface), ("geom", ContactGeom), ("fdir1", Vector3)]


class Feedback(ctypes.Structure):
    """Forces and torques of a joint on its two bodies (dJointFeedback)."""

    _fields_ = [(name, Vector3) for name in ("f1", "t1", "f2", "t2")]


# Functions


class Ode:
    """ODE's functions by their names without the prefix d.

    Args:
        library: From ``load_library``.
    """

    def __init__(self, library: OdeLibrary) -> None:
        self.library = library
        kinds: dict[str, Any] = {
            "i": ctypes.c_int,
            "u": ctypes.c_ulong,
            "p": ctypes.c_void_p,
            "r": Real,
            "v": ctypes.POINTER(Real),
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

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(f"ODE's d{name} is not in the table of functions")

    def matrix3(self, rotation: Array) -> Any:
        """Convert a (3, 3) matrix to dMatrix3, whose rows have four numbers."""
        rows = np.zeros((3, 4))
        rows[:, :3] = rotation
        return Matrix3(*rows.ravel().tolist())


@lru_cache(maxsize=1)
def load() -> Ode:
    """Load and initialise ODE once for the process.

    ODE writes messages and errors to stderr and aborts the process after an error, which is why
    worlds run in a separate one.

    Raises:
        BackendUnavailable: There is no library.
    """
    ode = Ode(load_library())
    ode.InitODE2(0)
    ode.AllocateODEDataForThread(0xFFFFFFFF)
    ode.RandSetSeed(0)
    return ode


# Search for the shared library


@dataclass(frozen=True)
class OdeLibrary:
    """A loaded ODE library; its functions take numbers of double precision."""

    handle: ctypes.CDLL
    path: str
    """As requested; a name that the system resolves has no directory."""
    configuration: frozenset[str]
    """Build options, such as ``ODE_EXT_trimesh``."""
    version: str
    """``0.16.2``, ``dartpy 6.20.0``, or the file name of the library where neither is known."""

    def describe(self) -> str:
        """Version and precision, such as ``0.16.2 double``."""
        return f"{self.version} double"


def load_library() -> OdeLibrary:
    """Load the first ODE library of the search path; the same one for the whole process.

    Raises:
        BackendUnavailable: There is none in double precision, or the one that ``SOFTGRASP_ODE_LIB``
            names is not ODE or has single precision.
    """
    return _load(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=1)
def _load(named: str) -> OdeLibrary:
    if named:
        return _name(named)
    system_library = ctypes.util.find_library("ode")
    names = [system_library, *SYSTEM_NAMES] if system_library else list(SYSTEM_NAMES)
    for name in dict.fromkeys(names):
        library = _open(name, _version_of_file)
        if library is not None and DOUBLE in library.configuration:
            return library
    library = _from_wheel()
    if library is None:
        searched = ", ".join(SYSTEM_NAMES[:3])
        raise BackendUnavailable(
            f"no ODE library of double precision found (looked for {searched} and {WHEEL}): "
            f"apt install libode8, or pip install 'softgrasp[ode]'; or set {VARIABLE}"
        )
    return library


def _name(name: str) -> OdeLibrary:
    """Open the library that the environment variable names."""
    library = _from_wheel() if name == WHEEL else _open(name, _version_of_file)
    if library is None:
        raise BackendUnavailable(f"{VARIABLE}: expected ODE's shared library, found {name}")
    if DOUBLE not in library.configuration:
        raise BackendUnavailable(
            f"{VARIABLE}: expected an ODE of double precision, found single precision in {name}: "
            "apt install libode8, or pip install 'softgrasp[ode]'"
        )
    return library


def _from_wheel() -> OdeLibrary | None:
    """Open the library that the dartpy wheel carries; its directory depends on the system."""
    try:
        wheel = metadata.distribution(WHEEL)
    except metadata.PackageNotFoundError:
        return None
    for file in wheel.files or ():
        if WHEEL_FILE.match(file.name):
            return _open(str(wheel.locate_file(file)), lambda _: f"{WHEEL} {wheel.version}")
    return None


def _open(path: str, version: Callable[[ctypes.CDLL], str]) -> OdeLibrary | None:
    try:
        handle = ctypes.CDLL(path)
        handle.dGetConfiguration.restype = ctypes.c_char_p
    except (OSError, AttributeError):
        return None
    words = frozenset(handle.dGetConfiguration().decode().split())
    return OdeLibrary(handle, path, words, version(handle))


def _version_of_file(handle: ctypes.CDLL) -> str:
    """Version from the name of the loaded file, as ODE has no function for it.

    Builds with libtool number the file 8.0.N for ODE 0.16.N (Debian's libode8 0.16.2 is
    libode.so.8.0.2); builds with CMake put the version of ODE there.
    """
    file = _load_file(handle)
    number = re.search(r"\.(\d+)\.(\d+)\.(\d+)(?:\.dylib)?$", file)
    if number is None:
        return Path(file).name
    major, minor, patch = number.groups()
    return f"0.16.{patch}" if (major, minor) == ("8", "0") else f"{major}.{minor}.{patch}"


class _DlInfo(ctypes.Structure):
    """Result of ``dladdr`` (Dl_info)."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def _load_file(handle: ctypes.CDLL) -> str:
    """Real path of a library that was opened by name."""
    info = _DlInfo()
    try:
        where = ctypes.CDLL(None).dladdr
        where(ctypes.cast(handle.dInitODE2, ctypes.c_void_p), ctypes.byref(info))
    except (OSError, AttributeError, TypeError):
        return handle._name
    return os.path.realpath(info.file.decode()) if info.file else handle._name
