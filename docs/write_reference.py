"""Write the reference and the type stubs from the tables of public names.

`python docs/write_reference.py` writes a page of docs/reference/ for each public module, a heading
a name (the text comes from the docstrings when the site is built), the pages of the command line
and of the file formats, and the stub `__init__.pyi` of each lazy package, which type checkers read.
"""

import json
from pathlib import Path
from typing import Literal, get_args, get_origin

import softgrasp
from softgrasp.checks.json_schema import KINDS, schema_of
from softgrasp.cli.app import SECTIONS
from softgrasp.cli.app import app as command_line

REFERENCE = Path(__file__).resolve().parent / "reference"
PACKAGE = Path(softgrasp.__file__).resolve().parent
MODULES = {
    "description": "Hands, objects, contacts, closures and scenes as frozen values.",
    "io": "Files to descriptions and back.",
    "model": "Descriptions to MuJoCo models.",
    "resolution": "Every value of a scene concrete, with its origin.",
    "sim": "Runs: motion, contacts, recordings.",
    "evaluation": "Recordings to outcomes, hold tests, quality and results.",
    "quality": "Grasp matrix, wrench spaces, ε and other measures, on arrays.",
    "mechanics": "Kinematics, contact patches, synergies and cameras, on arrays.",
    "continuum": "Load paths of elastic structures.",
    "soft": "Soft fingers: equilibria and motion.",
    "pcc": "Piecewise constant curvature.",
    "rld": "Rigid-link discretisation of soft fingers.",
    "calibration": "Measurements to parameters.",
    "sweeps": "Many grasps from one plan, and the grasp planner.",
    "comparison": "One scene in several physics engines.",
    "exports": "Runs and grasps in the formats of other programs.",
    "checks": "Checks of hands, objects and robots, and repairs.",
    "envs": "Scenes as environments for learning.",
    "rendering": "Images and video.",
    "report": "Figures and reports.",
    "vision": "Points picked in photographs.",
    "viewer": "Interactive views in the browser.",
    "hydraulics": "Water-hydraulic arms.",
    "control": "Controllers of continuum robots.",
    "twin": "The digital twin of a pneumatic gripper.",
    "plugin_api": "What satellites and other distributions use of the core.",
    "errors": "Exceptions and warnings.",
}
"""Public submodules in the order of the index."""
FORMATS_TEXT = """YAML files of softgrasp, field by field. Numbers are in SI and radians; a file
that begins with `units: {length: mm, angle: deg}` has its lengths and angles in those units.
Where a field takes a hand, an object, an arm or a finger, a shipped name or a file may stand for
its fields. URDF, U(C)RDF and MJCF files: [imported hands](../imported_hands.md).

`softgrasp schema scene --out scene.schema.json` writes the same as a JSON schema. An editor with a
YAML language server (VS Code with its YAML extension, and others) completes fields and marks
mistakes in a file that begins with:

    # yaml-language-server: $schema=scene.schema.json
""".splitlines()
"""Beginning of the page of file formats."""


def pages() -> dict[str, str]:
    """Text of every page by its file name."""
    texts = {"index.md": _index()}
    for name, sentence in MODULES.items():
        module = getattr(softgrasp, name)
        blocks = [f"::: {module.__name__}.{one}\n" for one in _names(module)]
        texts[f"{name}.md"] = f"# sg.{name}\n\n{sentence}\n\n" + "\n".join(blocks)
    return texts | {"file_formats.md": _file_formats(), "command_line.md": _command_line()}


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


def _file_formats() -> str:
    """Tables of the fields of all YAML files, from their JSON schemas."""
    lines = [
        "# File formats",
        "",
        *FORMATS_TEXT,
        "",
    ]
    parts, roots = {}, set()
    for kind, (model, about) in KINDS.items():
        definitions = schema_of(kind)["$defs"]
        parts |= definitions
        roots.add(model.__name__)
        lines += [f"## {kind}", "", about, "", *_fields(definitions[model.__name__])]
    lines += ["## Parts of files", ""]
    for name in sorted(set(parts) - roots):
        about = " ".join(parts[name].get("description", "").split("\n\n")[0].split())
        lines += [f"### {name}", "", about, "", *_fields(parts[name])]
    return "\n".join(lines).rstrip() + "\n"


def _fields(definition) -> list[str]:
    """Table of the fields of a definition, or of the form with most fields."""
    forms = [definition, definition.get("else", {}), definition.get("else", {}).get("else", {})]
    form = max(forms + definition.get("anyOf", []), key=lambda one: len(one.get("properties", ())))
    lines = ["| field | value | default | meaning |", "|---|---|---|---|"]
    for name, field in form["properties"].items():
        required = name in form.get("required", ())
        default = "required" if required else _default(field.get("default"))
        about = field.get("description", "").replace("``", "`").replace("|", "\\|")
        lines.append(f"| `{name}` | {_value(field)} | {default} | {about} |")
    return [*lines, ""]


def _default(value) -> str:
    text = "" if value in (None, "", [], {}) else json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if 0 < len(text) <= 40 else ""


def _value(field) -> str:
    """What a field takes, in words."""
    if "$ref" in field:
        name = field["$ref"].split("/")[-1]
        kinds = {model.__name__: kind for kind, (model, _) in KINDS.items()}
        return f"[{kinds.get(name, name)}](#{kinds.get(name, name).lower()})"
    if "allOf" in field:
        return " or ".join(dict.fromkeys(_value(one["then"]) for one in field["allOf"]))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{one}`" for one in field.get("enum", [field.get("const")]))
    if "anyOf" in field:
        words = [_value(one) for one in field["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(words))
    if field.get("type") == "array":
        return _list(field)
    words = {
        "string": "text",
        "boolean": "true or false",
        "object": "mapping",
        "integer": "integer",
    }
    word = words.get(field.get("type"), "number" if field.get("type") == "number" else "any")
    bounds = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
    return ", ".join(
        [word, *(f"{sign} {field[key]:g}" for key, sign in bounds.items() if key in field)]
    )


def _list(field) -> str:
    items = field.get("prefixItems") or [field.get("items", {})]
    words = list(dict.fromkeys(_value(one) for one in items))
    count = field.get("minItems") if field.get("minItems") == field.get("maxItems") else None
    return f"list of {f'{count} × ' if count else ''}{' and '.join(words)}"


def _command_line() -> str:
    """Usage and options of all verbs, from their definitions."""
    lines = [
        "# Command line",
        "",
        "`softgrasp VERB --help` prints the same.",
        "",
    ]
    for section, verbs in SECTIONS.items():
        lines += [f"## {section}", ""]
        for verb in verbs:
            command = command_line.commands[verb].whole
            for name, one in getattr(command, "commands", {"": command}).items():
                lines += _verb(f"softgrasp {verb} {name}".strip(), one)
    return "\n".join(lines).rstrip() + "\n"


def _verb(name: str, command) -> list[str]:
    shown = [one for one in command.params if getattr(one, "help", "") and not one.hidden]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    words = " ".join(
        _values_of(one) if one.required else f"[{_values_of(one)}]" for one in arguments
    )
    about = " ".join((command.help or "").split("\n\n")[0].split())
    usage = " ".join(filter(None, [name, words, "[OPTIONS]"]))
    lines = [f"### {name}", "", f"    {usage}", "", about, ""]
    if shown:
        lines += ["| option | value | meaning |", "|---|---|---|"]
    for one in shown:
        value = "" if getattr(one, "is_flag", False) else _values_of(one)
        if one in arguments:
            label, value = f"`{value}`", ""
        else:
            label = ", ".join(f"`{word}`" for word in [*one.opts, *one.secondary_opts])
        about = " ".join(one.help.split())
        cells = (cell.replace("|", "\\|") for cell in (label, value, about))
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _values_of(parameter) -> str:
    """Words for the values of an option or argument, as its help has them."""
    kind = parameter.type_descriptor.annotation
    choices = " or ".join(map(str, get_args(kind))) if get_origin(kind) is Literal else ""
    return (parameter.metavar or choices or getattr(kind, "__name__", "value").upper()).strip("[]")


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
