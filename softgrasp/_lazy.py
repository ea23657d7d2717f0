"""Public names that are imported when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Dotted name of the package.
        modules: Public names by the module that defines them, below ``softgrasp``. A name that
            starts with ``=`` is the module itself, as the name that follows.

    Returns:
        ``__all__``, ``__getattr__`` and ``__dir__``.
    """
    module_of = {name.removeprefix("="): module for module in modules for name in modules[module]}
    whole = {name[1:] for names in modules.values() for name in names if name.startswith("=")}
    public = sorted(module_of)

    def load_name(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module = import_module(f"softgrasp.{module_of[name]}")
        return module if name in whole else getattr(module, name)

    return public, load_name, lambda: public
