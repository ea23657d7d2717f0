"""Warp's words in Python: executes the text of our kernels where Warp is not installed.

Only what ``backends.warp.kernels.control`` and the functions that it calls need. Numbers have the
types that Warp gives them, so the arithmetic is that of Warp's CPU device.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

PACKAGE = "softgrasp.backends.warp"


class Struct:
    """A struct of arrays and numbers; numbers are converted to the annotated type."""

    def __init__(self, cls: type) -> None:
        """Read the annotations of a class."""
        self.vars = {name: SimpleNamespace(type=kind) for name, kind in cls.__annotations__.items()}

    def __call__(self) -> Any:
        """Return an instance without values."""
        return Values(self.vars)


class Values:
    """An instance of a struct."""

    def __init__(self, variables: dict[str, SimpleNamespace]) -> None:
        vars(self)["types"] = {name: variable.type for name, variable in variables.items()}

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.types[name]
        vars(self)[name] = kind(value) if isinstance(kind, type) else value


class Array(np.ndarray):
    """An array with the methods of Warp's."""

    def numpy(self) -> np.ndarray:
        """Return a copy on the host."""
        return np.array(self)

    def fill_(self, value: float) -> None:
        """Set all elements."""
        self[...] = value


class Vector(SimpleNamespace):
    """Type of short vectors."""

    def __call__(self, *parts: float) -> Any:
        """Return a vector."""
        return np.array(parts, dtype=self.kind)


def array(values: Any = None, dtype: Any = None) -> Any:
    """Return an array, or the annotation of one."""
    if values is None:
        return SimpleNamespace(dtype=dtype)
    return np.array(values, dtype=_element(dtype)).view(Array)


def zeros(shape: Sequence[int], dtype: Any) -> Any:
    """Return an array of zeros."""
    parts = (dtype.size,) if isinstance(dtype, Vector) else ()
    return np.zeros((*shape, *parts), dtype=_element(dtype)).view(Array)


def _element(dtype: Any) -> Any:
    plain = {int: np.int32, float: np.float32}
    return dtype.kind if isinstance(dtype, Vector) else plain.get(dtype, dtype)


def module() -> ModuleType:
    """Return a module that stands in for ``warp``."""
    fake, thread = ModuleType("warp"), [0]

    def launch(kernel: Callable[..., None], dim: int, inputs: Sequence[Any]) -> None:
        for thread[0] in range(dim):
            kernel(*inputs)

    named: dict[str, Any] = {
        "array": array, "array2d": array, "array3d": array, "zeros": zeros, "launch": launch,
        "struct": Struct, "func": lambda function: function,
        "kernel": lambda **_: lambda function: function, "tid": lambda: thread[0],
        "constant": lambda value: value, "where": lambda item, yes, no: yes if item else no,
        "min": min, "max": max, "abs": abs, "sqrt": np.sqrt,
        "int32": int, "float32": np.float32, "float64": np.float64,
        "types": SimpleNamespace(vector=lambda length, dtype: Vector(size=length, kind=dtype)),
        "mat33": Vector(size=9, kind=np.float32), "ScopedDevice": MagicMock(),
    }  # fmt: skip
    for name, size, kind in (
        ("vec2", 2, np.float32), ("vec3", 3, np.float32), ("vec2i", 2, np.int32),
        ("vec4d", 4, np.float64),
    ):  # fmt: skip
        named[name] = Vector(size=size, kind=kind)
    vars(fake).update(named)
    return fake


@contextmanager
def imported() -> Iterator[Any]:
    """Import ``softgrasp.backends.warp.worlds`` with this stand-in, and forget it afterwards."""
    package = import_module(PACKAGE)
    fresh = {"warp": module(), "mujoco_warp": MagicMock()}
    named = [*fresh, f"{PACKAGE}.kernels", f"{PACKAGE}.worlds"]
    modules = {name: sys.modules.pop(name, None) for name in named}
    parts = {name: vars(package).pop(name, None) for name in ("kernels", "worlds")}
    sys.modules.update(fresh)
    try:
        yield import_module(f"{PACKAGE}.worlds")
    finally:
        for owner, before in ((sys.modules, modules), (vars(package), parts)):
            for name, value in before.items():
                owner.pop(name, None)
                if value is not None:
                    owner[name] = value
