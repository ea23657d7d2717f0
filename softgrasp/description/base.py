"""What every description is: a frozen, validated value in SI units without arrays."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic._internal._model_construction import ModelMetaclass

from softgrasp.errors import DescriptionError, did_you_mean

Number = Annotated[float, Field(strict=True)]
"""A number, and nothing that only looks like one: no text, no true or false."""
Vec3 = tuple[Number, Number, Number]
Vec4 = tuple[Number, Number, Number, Number]
Positive = Annotated[float, Field(gt=0, strict=True)]
NonNegative = Annotated[float, Field(ge=0, strict=True)]


class _DescriptionType(ModelMetaclass):
    """Turns pydantic's errors into ours, at the outermost call only.

    A custom ``__init__`` would also run for nested values and lose the outer part of the path.
    """

    def __call__(cls, *args: Any, **data: Any) -> Any:
        try:
            return super().__call__(*args, **data)
        except ValidationError as error:
            raise description_error(error, cls) from None


class Description(BaseModel, metaclass=_DescriptionType):
    """Base of all descriptions: immutable, finite numbers only, unknown fields refused.

    Raises:
        DescriptionError: A field is missing, unknown or out of range.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    def replace(self, **changes: Any) -> Self:
        """A new description with the named fields changed, validated again.

        Raises:
            DescriptionError: A field does not exist or the new value is out of range.
        """
        return type(self)(**(dict(self) | changes))


def description_error(error: ValidationError, model: Any) -> DescriptionError:
    """The first problem of a pydantic error as one sentence with the field's path.

    A misspelt field comes first: the missing field beside it is only its consequence.
    """
    problems = error.errors(include_url=False)
    problem = min(problems, key=lambda found: found["type"] != "extra_forbidden")
    path, owner = _walk(problem["loc"], model)
    if problem["type"] == "extra_forbidden":
        known = [] if owner is None else list(owner.model_fields)
        message = f"no such field; {did_you_mean(str(problem['loc'][-1]), known)}"
    else:
        message = _sentence(dict(problem))
    return DescriptionError(message, field=_path_text(path) or None, location=path)


def _path_text(path: tuple[int | str, ...]) -> str:
    """``("fingers", 0, "radius")`` as ``fingers[0].radius``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _walk(
    location: tuple[int | str, ...], model: Any
) -> tuple[tuple[int | str, ...], type[BaseModel] | None]:
    """The location without the tags of unions, and the model that owns its last field."""
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
        elif depth == len(location) - 1 and part.isidentifier():
            path.append(part)
        else:
            named = [c for c in candidates if part in (c.__name__, _tag_of(c))]
            owner = named[0] if named else owner
    return tuple(path), owner


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found: list[type[BaseModel]] = []
    for argument in getattr(annotation, "__args__", ()):
        found += _models_in(argument)
    return found


def _tag_of(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("type")
    return None if field is None else str(field.default)


def _sentence(problem: dict[str, Any]) -> str:
    kind, found, context = problem["type"], problem["input"], problem.get("ctx", {})
    limits = {
        "greater_than": "above {gt:g}",
        "greater_than_equal": "at least {ge:g}",
        "less_than": "below {lt:g}",
        "less_than_equal": "at most {le:g}",
    }
    if kind in limits:
        return f"expected a number {limits[kind].format(**context)}, found {found!r}"
    if kind == "missing":
        return "this field is missing"
    if kind == "finite_number":
        return f"expected a finite number, found {found!r}"
    if kind == "value_error":
        return str(context["error"])
    if kind in ("literal_error", "enum"):
        return f"expected {context['expected']}, found {found!r}"
    if kind == "union_tag_invalid":
        return f"expected one of {context['expected_tags']}, found {context['tag']!r}"
    if kind == "union_tag_not_found":
        return "expected a field 'type' that names the kind"
    message = str(problem["msg"]).removeprefix("Input should be ").removeprefix("a valid ")
    return f"expected {message[0].lower()}{message[1:]}, found {_short(found)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
