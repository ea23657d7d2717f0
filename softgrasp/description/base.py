"""Base class, number types and error messages of all descriptions.

A description is a frozen, validated value in SI units that holds no arrays. ``Description`` refuses
unknown fields and numbers that are not finite, and reports problems as a ``DescriptionError`` with
the path of the field. Messages quote the documentation strings below the fields; ``field_docs``
reads them from the source only when a message or a page needs one, because reading them at import
would delay every start by a third of a second.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from ipaddress import ip_address
from itertools import pairwise
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from softgrasp.errors import DescriptionError, did_you_mean, either
from softgrasp.extensions import NOTEBOOK

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

T = TypeVar("T")
Taken = TypeVar("Taken", contravariant=True)
LARGEST = 1e15
"""Largest magnitude of a number in a description; squares and cubes of larger ones overflow."""
Number = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST)]
"""A number; texts and booleans are refused."""
Vec3 = tuple[Number, Number, Number]
Vec4 = tuple[Number, Number, Number, Number]
Positive = Annotated[float, Field(strict=True, gt=0, le=LARGEST)]
NonNegative = Annotated[float, Field(strict=True, ge=0, le=LARGEST)]
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
UpToOne = Annotated[float, Field(strict=True, ge=0, le=1)]
FieldPath = tuple[int | str, ...]
MAX_SUPPORT = 0.1
"""Fraction of the load of a held object that something else than the hand may bear [–]."""
MAX_REPR = 180
"""Largest number of characters of the representation of a description, about two lines."""
MAX_NAME = 200
"""Largest number of characters of a name."""


if TYPE_CHECKING:

    class Accepts(Generic[T, Taken]):
        """Type of a field that holds ``T``, and whose constructor takes ``Taken`` as well."""

        def __get__(self, owner: object, kind: type | None = None) -> T: ...
        def __set__(self, owner: object, value: Taken) -> None: ...

    @dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
    class _DescriptionType(ModelMetaclass): ...  # checkers know all fields, and that none changes

else:

    class Accepts:
        """``Accepts[T, Taken]`` is ``T`` at run time; validators convert what else is passed."""

        def __class_getitem__(cls, parameters: tuple[Any, Any]) -> Any:
            return parameters[0]

    class _DescriptionType(type(BaseModel)):
        """Metaclass that converts pydantic errors to ``DescriptionError`` at the outermost call.

        An ``__init__`` would also run for nested values and lose the outer part of the field's
        path.
        """

        def __call__(cls, *args: Any, **data: Any) -> Any:
            try:
                return super().__call__(*args, **data)
            except ValidationError as error:
                raise description_error(error, cls) from None

        @property
        def __doc__(cls) -> str:
            """Documentation of the class with that of its fields, for ``help``."""
            about = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
            fields = [f"{name}: {' '.join(text.split())}" for name, text in field_docs(cls).items()]
            return "\n    ".join([f"{about}\n\nFields:", *fields]) if fields else about


class Description(BaseModel, metaclass=_DescriptionType):
    """Base of all descriptions: immutable, finite numbers only, no unknown fields.

    Raises:
        DescriptionError: A field is missing, unknown or out of range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_name(cls, data: Any) -> Any:
        """Refuse a name that would spoil messages, terminals and files."""
        name = data.get("name") if isinstance(data, dict) else None
        if isinstance(name, str):
            problem = ""
            if len(name) > MAX_NAME:
                problem = f"of at most {MAX_NAME} characters, found {len(name)}"
            elif not name.strip().isprintable():
                problem = f"without control characters, found {name!a}"
            if problem:
                raise FieldError(f"expected a name {problem}", "name")
        return data

    if not TYPE_CHECKING:  # checkers would accept any name

        def __setattr__(self, name: str, value: Any) -> None:
            """Refuse to change a field.

            Raises:
                DescriptionError: Always, but for names that begin with ``_`` and cached properties.
            """
            fields = type(self).model_fields
            if name.startswith("_") or (name not in fields and hasattr(type(self), name)):
                super().__setattr__(name, value)
                return
            message = (
                f"a {type(self).__name__} does not change; write changed = "
                f"old.replace({name}={short(value)})"
            )
            if name not in fields:
                message = f"no such field; {did_you_mean(name, fields)}"
            raise DescriptionError(message, field=name, value=value)

    def __repr__(self) -> str:
        """Show the type, and stated fields as far as they fit in ``MAX_REPR`` characters."""
        parts = [f"{name}={compact_repr(getattr(self, name))}" for name in self.shown_fields()]
        kept = len(parts)
        while kept and len(", ".join(parts[:kept])) + len(type(self).__name__) > MAX_REPR - 5:
            kept -= 1
        more = ["…"] * (kept < len(parts))
        return f"{type(self).__name__}({', '.join([*parts[:kept], *more])})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Show fields, and hand, object or scene in a picture, in a notebook."""
        html: str = NOTEBOOK.load("html")(self)
        return html

    def shown_fields(self) -> list[str]:
        """Return the fields that are stated or not at their defaults, the name first."""
        fields, stated = type(self).model_fields, self.model_fields_set
        shown = [name for name, field in fields.items()
                 if name in stated or getattr(self, name) != field.default]  # fmt: skip
        return sorted(shown, key=lambda name: name != "name")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        """Add the documentation of every field to the JSON schema."""
        schema: dict[str, Any] = handler(core)
        for name, entry in handler.resolve_ref_schema(schema).get("properties", {}).items():
            if name in field_docs(cls):
                entry.setdefault("description", " ".join(field_docs(cls)[name].split()))
        return schema

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with the named fields changed, which are then stated fields.

        Raises:
            DescriptionError: A field does not exist or the new value is out of range.
        """
        changed = self.choose(**changes)
        changed.__pydantic_fields_set__.update(changes)
        return changed

    def choose(self, **values: Any) -> Self:
        """Return a validated copy with values of fields that nobody has stated.

        ``model_fields_set`` stays what it is: the names of the stated fields.

        Raises:
            DescriptionError: A field does not exist or the new value is out of range.
        """
        current = {name: getattr(self, name) for name in type(self).model_fields}
        changed = type(self)(**(current | values))
        changed.__pydantic_fields_set__.clear()
        changed.__pydantic_fields_set__.update(self.model_fields_set)
        return changed


def compact_repr(value: Any) -> str:
    """Format the value of a field; a description by its name, a long tuple by its length."""
    text = repr(value)
    if isinstance(value, Description):
        name = getattr(value, "name", "")
        short_form = f"<{type(value).__name__} {name}>".replace(" >", ">")
        return short_form if name or len(text) > MAX_LETTERS else text
    if isinstance(value, tuple) and len(text) > MAX_LETTERS:
        return f"<{len(value)} values>"
    return short(value)


def unstated(value: T) -> T:
    """Return a value read from a file, with no field stated by anybody else, nor in its parts."""
    if isinstance(value, Description):
        value.__pydantic_fields_set__.clear()
        for name in type(value).model_fields:
            unstated(getattr(value, name))
    elif isinstance(value, tuple):
        for part in value:
            unstated(part)
    return value


class FieldError(ValueError):
    """Validation error that names one of the fields inside its model.

    Args:
        message: What was expected and what was found.
        path: Path of the field, relative to the model.
    """

    def __init__(self, message: str, *path: int | str) -> None:
        super().__init__(message)
        self.path = path


def require_unique(names: Iterable[tuple[str, FieldPath]], what: str) -> None:
    """Refuse names that occur more than once.

    Args:
        names: Names and the paths of the fields that hold them.
        what: Kind of the named items, for the message.

    Raises:
        FieldError: At the second occurrence.
    """
    seen: set[str] = set()
    for name, path in names:
        if name in seen:
            raise FieldError(f"expected unique names, found {what} '{name}' twice", *path)
        seen.add(name)


def refuse_above(
    value: float | None, limit: float | None, name: str, field: str, unit: str = ""
) -> None:
    """Refuse a value above a limit with a name; either may be None.

    Raises:
        FieldError: For the field ``field``.
    """
    if value is not None and limit is not None and value > limit:
        raise FieldError(f"expected at most {name} ({limit:g}{unit}), found {value:g}{unit}", field)


def check_range(
    limits: tuple[float, float], start: float, format_values: Callable[..., str]
) -> None:
    """Refuse limits in the wrong order and a start value outside them.

    Raises:
        FieldError: For the fields ``limits`` and ``start``.
    """
    low, high = limits
    if low > high:
        raise FieldError(
            f"expected limits (lowest, highest), found {format_values(low, high)}", "limits"
        )
    if not low <= start <= high:
        inside, actual = format_values(low, high), format_values(start)
        raise FieldError(f"expected start inside the limits {inside}, found {actual}", "start")


def unit_quaternion(value: Vec4) -> Vec4:
    """Normalise a quaternion (w, x, y, z) whose norm is 1 within 1e-3.

    Raises:
        ValueError: The norm differs more. Normalising would hide that numbers are missing or mixed
            up: the matrix that paper 001 (eq 7) makes of such a quaternion is no rotation.
    """
    norm = math.hypot(*value)
    if not abs(norm - 1.0) <= QUATERNION_TOLERANCE:
        raise ValueError(
            "expected a quaternion (w, x, y, z) of norm 1 within "
            f"{QUATERNION_TOLERANCE:g}, found {value} of norm {norm:.6g}"
        )
    return divide_by_norm(value, norm)


def divide_by_norm(value: Vec4, norm: float) -> Vec4:
    """Divide a quaternion by its norm; one of norm 1 within 1e-14 stays unchanged."""
    if abs(norm - 1.0) < 1e-14:
        return value
    w, x, y, z = (part / norm for part in value)
    return (w, x, y, z)


QUATERNION_TOLERANCE = 1e-3
"""Largest deviation of the norm of a rounded unit quaternion from 1; larger ones are errors."""


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable only from this machine; ``localhost`` is."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# From a pydantic error to one sentence.

LOADERS = {"Hand": "load_hand", "GraspObject": "load_object", "SoftFinger": "io.load_finger"}
"""Functions that load a description of a type, for messages."""
MAX_LETTERS = 60
"""Longest value that a message quotes whole."""
_LIMITS = {
    "greater_than": "above {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "below {lt:g}",
    "less_than_equal": "at most {le:g}",
}
_KINDS = {
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a mapping of fields"),
    "string_type": "text",
    "string_too_short": "some text",
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    "int_parsing_size": "a whole number of reasonable size",
}


def description_error(error: ValidationError, model: Any) -> DescriptionError:
    """Convert the first problem of a pydantic error to one sentence with the field's path.

    A misspelt field comes first, because a missing field beside it is only its consequence.
    """
    problems = error.errors(include_url=False)
    problem: dict[str, Any] = dict(
        min(problems, key=lambda item: item["type"] != "extra_forbidden")
    )
    path, owner = _walk(problem["loc"], model)
    complaint = problem.get("ctx", {}).get("error")
    if isinstance(complaint, FieldError):
        path += complaint.path
    fields = {} if owner is None else owner.model_fields
    if problem["type"] == "extra_forbidden" and not path:  # the key is no name, e.g. a number
        key = str(problem["loc"][-1])
        message = f"expected a name, found the key {key}; {did_you_mean(key, fields)}"
    elif problem["type"] == "extra_forbidden":
        message = f"no such field; {did_you_mean(str(path[-1]), fields)}"
    elif problem["type"] == "missing" and isinstance(path[-1], int):
        message = f"expected more values, found only {path[-1]}"
        path = path[:-1]
    elif problem["type"] == "missing":
        message = "this field is missing" + _expect(owner, str(path[-1]))
    elif problem["type"] == "model_type":
        kind = problem["ctx"]["class_name"]
        made = f", such as softgrasp.{LOADERS[kind]}(…) makes" if kind in LOADERS else ""
        actual = short(problem["input"])
        message = f"expected a {kind}{made}, or a mapping of its fields, found {actual}"
    elif problem["type"] == "union_tag_not_found":
        message = "expected a field 'type' that names the kind, found none"
    else:
        message = _sentence(problem)
    return DescriptionError(
        message, field=path_text(path) or None, location=path, value=problem["input"]
    )


def path_text(path: FieldPath) -> str:
    """Format ``("fingers", 0, "radius")`` as ``fingers[0].radius``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def error_at(message: str, *location: int | str) -> DescriptionError:
    """Make the error of a field, with its path in parts and in words."""
    return DescriptionError(message, field=path_text(location), location=location)


def error_inside(error: DescriptionError, *location: int | str) -> DescriptionError:
    """Return the error of a part with the location of that part before its own."""
    field = ".".join(filter(None, (path_text(location), error.field)))
    return DescriptionError(
        error.message, field=field, location=(*location, *error.location), value=error.actual
    )


def _walk(location: FieldPath, model: Any) -> tuple[FieldPath, type[BaseModel] | None]:
    """Return the location without pydantic's union tags, and the model of its last field."""
    path: list[int | str] = []
    candidates: list[type[BaseModel]] = [model]
    owner: type[BaseModel] | None = model
    for depth, part in enumerate(location):
        fields = {} if owner is None else owner.model_fields
        if isinstance(part, int):
            path.append(part)
        elif part in fields and depth < len(location) - 1:
            path.append(part)
            candidates = _models_in(fields[part].annotation)
            owner = candidates[0] if candidates else None
        elif named := [
            candidate
            for candidate in candidates
            if part == candidate.__name__
            or (
                "type" in candidate.model_fields
                and part == str(candidate.model_fields["type"].default)
            )
        ]:
            owner, candidates = named[0], []
        elif depth == len(location) - 1 and part.isidentifier():
            path.append(part)
    return tuple(path), owner


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    models: list[type[BaseModel]] = []
    for argument in getattr(annotation, "__args__", ()):
        models += _models_in(argument)
    return models


def _expect(owner: type[BaseModel] | None, name: str) -> str:
    """Describe what a missing field should contain."""
    field = None if owner is None else owner.model_fields.get(name)
    if owner is None or field is None:
        return ""
    if get_origin(field.annotation) is Literal:
        return f"; expected {either(get_args(field.annotation))}"
    kind = _kind(field.annotation)
    about = field_docs(owner).get(name, "").split("\n")[0].rstrip(".")
    return "; expected " + ": ".join(part for part in (kind, about) if part)


def _kind(annotation: Any) -> str:
    if get_origin(annotation) is tuple:
        inner = get_args(annotation)
        return "a list" if ... in inner else f"a list of {len(inner)} numbers"
    if _models_in(annotation):
        return "a mapping of fields"
    return {str: "text", float: "a number", int: "a whole number"}.get(annotation, "a value")


def _sentence(problem: dict[str, Any]) -> str:
    kind, value, context = problem["type"], problem["input"], problem.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        value = context.get("tag", value)
        text = str(context.get("expected") or context["expected_tags"])
        known = re.findall(r"'([^']*)'", text) or [text]  # a number has no quotation marks
        near = get_close_matches(str(value), known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f"expected {either(known)}, found {short(value)}{hint}"
    if kind in ("too_short", "too_long"):
        bound = "at least {min_length}" if kind == "too_short" else "{max_length}"
        return f"expected {bound.format(**context)} values, found {context['actual_length']}"
    if kind in _LIMITS:
        expected = f"a number {_LIMITS[kind].format(**context)}"
    elif kind in _KINDS:
        expected = _KINDS[kind]
    else:
        message = str(problem["msg"]).removeprefix("Input should be ").removeprefix("a valid ")
        expected = f"{message[0].lower()}{message[1:]}"
    return f"expected {expected}, found {short(value)}"


# Values and field documentation in messages.
def listed(values: Iterable[float]) -> str:
    """Format numbers as ``0.5`` or ``[0, 1.5]``."""
    numbers = [f"{value:g}" for value in values]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"


def text_with_unit(unit: str, values: Iterable[float]) -> str:
    """Format numbers with their unit, and angles also in degrees."""
    numbers = tuple(values)
    text = f"{listed(numbers)} {unit}".rstrip()
    return f"{text} ({listed(map(math.degrees, numbers))}°)" if unit == "rad" else text


def short(value: Any) -> str:
    """Format a value for a message, truncated where it is long."""
    if isinstance(value, BaseModel):
        return f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= MAX_LETTERS else text[: MAX_LETTERS - 1] + "…"


@cache
def field_docs(model: type) -> dict[str, str]:
    """Return the documentation strings of the fields of a class and its bases, by field name.

    Empty where the source is not available.
    """
    docs: dict[str, str] = {}
    for part in reversed(model.__mro__):
        docs |= dict(_document(part))
    return docs


def _document(part: type) -> Iterator[tuple[str, str]]:
    if part.__module__ in ("builtins", "pydantic.main"):
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
    except (OSError, TypeError, SyntaxError):
        return
    (definition,) = tree.body
    assert isinstance(definition, ast.ClassDef)
    for field, text in pairwise(definition.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str() as doc)):
                yield name, inspect.cleandoc(doc)
