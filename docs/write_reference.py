"""Write the reference and the type stubs from the tables of public names.

`python docs/write_reference.py` writes a page of docs/reference/ for each public module, a heading
a name (the text comes from the docstrings when the site is built), and the stub `__init__.pyi` of
each lazy package, which type checkers read.
"""

from pathlib import Path

import softgrasp

REFERENCE = Path(__file__).resolve().parent / "reference"
PACKAGE = Path(softgrasp.__file__).resolve().parent
MODULES = {
    "description": "Hands, objects, contacts, closures and scenes as frozen values.",
    "io": "Files to descriptions and back.",
    "model": "Descriptions to MuJoCo models.",
    "sim": "Runs and their results.",
    "quality": "Grasp matrix, wrench spaces, ε and other measures, on arrays.",
    "mechanics": "Kinematics, contact patches, synergies and cameras, on arrays.",
    "soft": "Soft fingers: equilibria and motion.",
    "pcc": "Piecewise constant curvature.",
    "rld": "Rigid-link discretisation of soft fingers.",
    "calibration": "Measurements to parameters.",
    "sweeps": "Many grasps from one plan, and the grasp planner.",
    "comparison": "One scene in several physics engines.",
    "checks": "Checks of hands, objects and robots, and repairs.",
    "envs": "Scenes as environments for learning.",
    "rendering": "Images and video.",
    "report": "Figures and reports.",
    "viewer": "Interactive views in the browser.",
    "hydraulics": "Water-hydraulic arms.",
    "control": "Controllers of continuum robots.",
    "twin": "The digital twin of a pneumatic gripper.",
    "errors": "Exceptions and warnings.",
}
"""Public submodules in the order of the index."""


def pages() -> dict[str, str]:
    """Text of every page by its file name."""
    texts = {"index.md": _index()}
    for name, sentence in MODULES.items():
        module = getattr(softgrasp, name)
        blocks = [f"::: {module.__name__}.{one}\n" for one in _names(module)]
        texts[f"{name}.md"] = f"# sg.{name}\n\n{sentence}\n\n" + "\n".join(blocks)
    return texts


def stubs() -> dict[Path, str]:
    """Text of the stub of every lazy package, by its path."""
    packages = [softgrasp, *(getattr(softgrasp, name) for name in MODULES)]
    lazy = [package for package in packages if hasattr(package, "NAMES")]
    return {Path(package.__file__).with_suffix(".pyi"): _stub(package) for package in lazy}


def _stub(package) -> str:
    lines = [
        "from softgrasp import errors as errors",
        "from softgrasp._version import __version__ as __version__",
    ]
    if package is not softgrasp:
        lines = []
    for module, names in package.NAMES.items():
        for name in names:
            if not name.startswith("="):
                lines.append(f"from softgrasp.{module} import {name} as {name}")
            elif name != "=errors":
                parent, _, last = f"softgrasp.{module}".rpartition(".")
                lines.append(f"from {parent} import {last} as {name[1:]}")
    return "\n".join([*sorted(lines), "", "NAMES: dict[str, tuple[str, ...]]", ""])


def _names(module) -> list[str]:
    public = getattr(module, "__all__", None)
    if public is None:  # a plain module, all of whose names are its own
        public = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
    return sorted(public, key=str.lower)


def _index() -> str:
    lines = [
        "# Reference",
        "",
        "`import softgrasp as sg`. What most users need stands at the top level:",
        "",
        ", ".join(f"`sg.{name}`" for name in _top_level()) + ".",
        "",
        "Everything else is in a submodule. Other modules may change without notice.",
        "",
        "| module | contents | names |",
        "|---|---|---|",
    ]
    for name, sentence in MODULES.items():
        listed = ", ".join(f"`{one}`" for one in _names(getattr(softgrasp, name)))
        lines.append(f"| [sg.{name}]({name}.md) | {sentence} | {listed} |")
    return "\n".join(lines) + "\n"


def _top_level() -> list[str]:
    return [name for name in softgrasp.__all__ if name not in MODULES and name != "__version__"]


if __name__ == "__main__":
    for path in REFERENCE.glob("*.md"):
        path.unlink()
    for file_name, text in pages().items():
        (REFERENCE / file_name).write_text(text, encoding="utf-8")
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
