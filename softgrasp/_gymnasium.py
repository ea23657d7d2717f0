"""Registration of the environments in Gymnasium, as soon as both packages are imported.

``import softgrasp`` does not import Gymnasium: where that is not there yet, a finder of modules
waits for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

LIBRARY = "gymnasium"
SCENE_ENV = "softgrasp/Grasp-v0"
TASK_VERSIONS = {
    "CloseAndHold": 1, "Lift": 0, "LiftAny": 0, "InHandRotation": 1, "Regrasp": 1, "SoftLift": 0,
    "SoftReach": 0, "ClutteredPick": 0, "Insertion": 0, "Valve": 1, "TwoHands": 0,
}  # fmt: skip
"""Learning tasks, the keys of ``tasks.TASKS``, which are not imported here, and the versions of
their identifiers; a version rises where its task changes."""


def register() -> None:
    """Register ``softgrasp/Grasp-v0`` and ``softgrasp/<Task>-v<version>`` in Gymnasium."""
    import gymnasium

    if SCENE_ENV in gymnasium.registry:
        return
    gymnasium.register(id=SCENE_ENV, entry_point="softgrasp.envs.gym_env:GraspEnv")
    for name, version in TASK_VERSIONS.items():
        gymnasium.register(
            id=f"softgrasp/{name}-v{version}",
            entry_point="softgrasp.envs.task_env:TaskEnv",
            vector_entry_point="softgrasp.envs.task_env:TaskVectorEnv",
            kwargs={"task": name},
        )


def register_once_imported() -> None:
    """Register the environments now, or when Gymnasium is imported."""
    if sys.modules.get(LIBRARY) is not None:
        register()
    elif not any(isinstance(item, _Finder) for item in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds Gymnasium as the other finders do, and has its loader register the environments."""

    searching = False
    """Whether the others search: they are tried by the same function."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the spec of Gymnasium; None for any other module."""
        if self.searching or fullname != LIBRARY:
            return None
        self.searching = True
        try:
            spec = find_spec(LIBRARY)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader)
        return spec


class _RegisteringLoader(Loader):
    """Loader of Gymnasium that registers the environments afterwards."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as its loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Import Gymnasium, then register; the finder is not needed any more."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        sys.meta_path[:] = [item for item in sys.meta_path if not isinstance(item, _Finder)]
        register()
