"""What every description is: a frozen, validated value in SI units without arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from softgrasp.description.problems import description_error

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

LARGEST = 1e15
"""Numbers beyond it are slips of the pen, and their squares and cubes would not be finite."""

Number = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST)]
"""A number, and nothing that only looks like one: no text, no true or false."""
Vec3 = tuple[Number, Number, Number]
Vec4 = tuple[Number, Number, Number, Number]
Positive = Annotated[float, Field(strict=True, gt=0, le=LARGEST)]
NonNegative = Annotated[float, Field(strict=True, ge=0, le=LARGEST)]
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]


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

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def replace(self, **changes: Any) -> Self:
        """A new description with the named fields changed, validated again.

        Raises:
            DescriptionError: A field does not exist or the new value is out of range.
        """
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**(kept | changes))
