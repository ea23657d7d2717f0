"""Write the reference and the type stubs from the tables of public names.

`python docs/write_reference.py` writes a page of docs/reference/ for each public module, a heading
a name (the text comes from the docstrings when the site is built), the pages of descriptions with a
table of fields for each, those of the command line and of the file formats, and the stub
`__init__.pyi` of each lazy package, which type checkers read.
"""

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import softgrasp
from softgrasp.checks.json_schema import KINDS, schema_of
from softgrasp.cli.app import SECTIONS
from softgrasp.cli.app import app as command_line
from softgrasp.description.base import Description, compact_repr, field_docs

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
TOPICS = {
    "hand": ("Hands", ("hand", "finger", "actuation", "adhesion")),
    "object": ("Objects and surroundings", ("object", "geometry")),
    "contact": ("Contacts", ("contact",)),
    "closure": ("Closures", ("closure",)),
    "scene": ("Scenes and sensors", ("scene", "sensor")),
    "task": ("Sequences and hold tests", ("task",)),
    "soft_finger": ("Soft fingers", ("soft_finger",)),
    "sweep": ("Sweeps and plans", ("sweep",)),
    "calibration": ("Calibration", ("calibration",)),
    "robot": ("Robots and arms", ("robot", "bendable", "arm")),
}
"""Pages of ``sg.description``: heading, and modules in ``softgrasp/description/``."""
COMMON_FIELDS = {
    "name": "Name in files, messages and results.",
    "type": "Names the class in files.",
}
"""Meaning of fields that most classes have and few document."""
UNIT = re.compile(r"(?:^|(?<= ))\[([^][*0]+)\](?=[.,;:) ]|$)")
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
        if name == "description":
            continue
        module = getattr(softgrasp, name)
        blocks = [f"::: {module.__name__}.{item}\n" for item in _names(module)]
        texts[f"{name}.md"] = f"# sg.{name}\n\n{sentence}\n\n" + "\n".join(blocks)
    texts |= {"file_formats.md": _file_formats(), "command_line.md": _command_line()}
    return (
        texts
        | {"description.md": _descriptions()}
        | {_page_of(topic): _topic(*TOPICS[topic]) for topic in TOPICS}
    )


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


def _page_of(topic: str) -> str:
    return f"description_{topic}.md"


def _described(module: str) -> tuple[str, ...]:
    return softgrasp.description.NAMES.get(f"description.{module}", ())


@cache
def _links() -> dict[str, str]:
    """Link to the section of each description, by its name; of parts to that of file formats."""
    parts = {part for kind in KINDS for part in schema_of(kind)["$defs"]}
    return {part: f"[{part}](file_formats.md#{part.lower()})" for part in parts} | {
        name: f"[{name}]({_page_of(topic)}#softgrasp.description.{module}.{name})"
        for topic, (_, modules) in TOPICS.items()
        for module in modules
        for name in _described(module)
    }


def _descriptions() -> str:
    """Overview of the pages of descriptions."""
    lines = [
        "# sg.description",
        "",
        MODULES["description"] + " All are in SI units and radians; each field is checked when a",
        "value is made, and an error names the field. `value.replace(field=...)` returns a changed",
        "copy, `value.choose(...)` one with fields that nobody has stated yet, and",
        "`help(sg.description.Hand)` prints the fields of a class. The same fields in YAML:",
        "[file formats](file_formats.md).",
        "",
        "| topic | classes |",
        "|---|---|",
    ]
    links = _links()
    for topic, (title, modules) in TOPICS.items():
        names = sorted((name for module in modules for name in _described(module)), key=str.lower)
        shown = ", ".join(links[name] for name in names)
        lines.append(f"| [{title}]({_page_of(topic)}) | {shown} |")
    return "\n".join(lines) + "\n"


def _topic(title: str, modules: tuple[str, ...]) -> str:
    """Page of the descriptions of a topic."""
    lines = [f"# {title}", ""]
    for module in modules:
        for name in _described(module):
            kind, path = getattr(softgrasp.description, name), f"softgrasp.description.{module}"
            if isinstance(kind, type) and issubclass(kind, Description):
                lines += [f"## {name} {{ #{path}.{name} }}", "", *_description(kind)]
            else:
                lines += [f"::: {path}.{name}", "    options: {heading_level: 2}", ""]
    return "\n".join(lines)


def _description(kind: type[Description]) -> list[str]:
    """Documentation of a description: its text, its fields, and what it computes."""
    lines = [inspect.cleandoc(vars(kind)["__doc__"]), ""]
    docs, links = field_docs(kind), _links()
    if kind.model_fields:
        lines += ["| field | unit or type | default | meaning |", "|---|---|---|---|"]
    for name, field in kind.model_fields.items():
        text = " ".join(docs.get(name, COMMON_FIELDS.get(name, "")).split())
        unit = UNIT.search(text)
        if unit:
            text = (text[: unit.start()].rstrip() + text[unit.end() :]).strip()
        takes = _takes(field.annotation, unit.group(1) if unit else "", links)
        default = "required" if field.is_required() else _initial(field.default)
        cells = (f"`{name}`", takes, default, text.replace("``", "`"))
        lines.append(_row(cells))
    computed = [*_computed(kind)]
    return [*lines, "", *computed, *([""] if computed else [])]


def _row(cells: tuple[str, ...]) -> str:
    """Row of a table; alternatives in code become words, as a table ends a cell at their bar."""
    shown = (
        re.sub(r"`[^`]*`", lambda item: item[0].replace("|", "` or `"), cell) for cell in cells
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in shown) + " |"


def _computed(kind: type[Description]) -> list[str]:
    """Properties and methods of a description, with the first sentence of their documentation."""
    members: dict[str, Any] = {}
    for part in kind.__mro__[: kind.__mro__.index(Description)]:
        members = vars(part) | members
    lines = []
    for name, member in members.items():
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        function = function or getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        about = " ".join(inspect.getdoc(function).split("\n\n")[0].split())
        call = name
        if inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            words = [word for word in inspect.signature(function).parameters if word != "self"]
            call += f"({', '.join(word for word in words if word != 'cls')})"
        lines.append(f"- `{call}`: {about}")
    return lines


def _takes(annotation: Any, unit: str, links: dict[str, str]) -> str:
    """What a field takes: the unit of its numbers, or a type in words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _takes(parts[0], unit, links)
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is tuple:
        words = list(dict.fromkeys(_takes(part, unit, links) for part in parts if part is not ...))
        count = "" if ... in parts or len(words) > 1 else f"{len(parts)} × "
        return f"{count or 'list of '}{' and '.join(words)}"
    if parts:
        words = [_takes(part, unit, links) for part in parts if part is not type(None)]
        return " or ".join(dict.fromkeys(words))
    if annotation in (int, float):
        return unit or {int: "integer", float: "number"}[annotation]
    words = {bool: "true or false", str: "text", Any: "any"}
    if annotation in words:
        return words[annotation]
    if issubclass(annotation, tuple):  # such as Rates, which one number may stand for
        return f"{unit or 'number'}, or a list"
    public = next((item for item in annotation.__mro__ if item.__name__ in links), annotation)
    name = public.__name__.removesuffix("Override")  # has the same fields, none of them required
    return links.get(name, f"`{name}`")


def _initial(value: Any) -> str:
    """The default of a field as it is written in Python, or nothing."""
    if isinstance(value, Description):
        text = compact_repr(value)
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, tuple):
        text = f"({', '.join(_initial(item).strip('`') for item in value)})" if value else ""
    else:
        text = "" if value is None else str(value)
    return f"`{text}`" if 0 < len(text) <= 60 and text[0] != "<" else ""


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
    for name in sorted(set(parts) - roots - {"HandCarrier"}):  # an abstract base
        about = " ".join(parts[name].get("description", "").split("\n\n")[0].split())
        lines += [f"### {name}", "", about, "", *_fields(parts[name])]
    return "\n".join(lines).rstrip() + "\n"


def _fields(definition) -> list[str]:
    """Table of the fields of a definition, or of the form with most fields."""
    forms = [definition, definition.get("else", {}), definition.get("else", {}).get("else", {})]
    form = max(
        forms + definition.get("anyOf", []), key=lambda item: len(item.get("properties", ()))
    )
    lines = ["| field | value | default | meaning |", "|---|---|---|---|"]
    for name, field in form["properties"].items():
        required = name in form.get("required", ())
        default = "required" if required else _default(field.get("default"))
        about = field.get("description", "").replace("``", "`")
        lines.append(_row((f"`{name}`", _value(field), default, about)))
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
        return " or ".join(dict.fromkeys(_value(item["then"]) for item in field["allOf"]))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{item}`" for item in field.get("enum", [field.get("const")]))
    if "anyOf" in field:
        words = [_value(item) for item in field["anyOf"] if item.get("type") != "null"]
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
    words = list(dict.fromkeys(_value(item) for item in items))
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
            for name, item in getattr(command, "commands", {"": command}).items():
                lines += _verb(f"softgrasp {verb} {name}".strip(), item)
    return "\n".join(lines).rstrip() + "\n"


def _verb(name: str, command) -> list[str]:
    shown = [param for param in command.params if getattr(param, "help", "") and not param.hidden]
    arguments = [item for item in shown if item.param_type_name == "argument"]
    words = " ".join(
        _label(argument) if argument.required else f"[{_label(argument)}]" for argument in arguments
    )
    about = " ".join((command.help or "").split("\n\n")[0].split())
    usage = " ".join(filter(None, [name, words, "[OPTIONS]"]))
    lines = [f"### {name}", "", f"    {usage}", "", about, ""]
    if shown:
        lines += ["| option | value | meaning |", "|---|---|---|"]
    for item in shown:
        value = "" if getattr(item, "is_flag", False) else _values_of(item)
        if item in arguments:
            label, value = f"`{_label(item)}`", _choices(item)
        else:
            label = ", ".join(f"`{word}`" for word in [*item.opts, *item.secondary_opts])
        about = " ".join(item.help.split())
        lines.append(_row((label, value, about)))
    return [*lines, ""]


def _values_of(parameter) -> str:
    """Words for the values of an option or argument, as its help has them."""
    kind = parameter.type_descriptor.annotation
    type_name = getattr(kind, "__name__", "value").upper()
    return (parameter.metavar or _choices(parameter) or type_name).strip("[]")


def _choices(parameter) -> str:
    kind = parameter.type_descriptor.annotation
    return " or ".join(map(str, get_args(kind))) if get_origin(kind) is Literal else ""


def _label(argument) -> str:
    return (argument.metavar or argument.name.upper()).strip("[]")


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
        listed = ", ".join(f"`{item}`" for item in _names(getattr(softgrasp, name)))
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
