"""How far the pieces of a pneumatic finger bend at a pressure: a cubic polynomial a piece."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, NonNegative, Number, Positive, Vec4
from softgrasp.description.problems import FieldError

PIECES = Field(min_length=1)


class PressureFit(Description):
    """Bending angles θ = Σ cₖ (p / scale)ᵏ, k = 0 … 3, of the pieces of a finger.

    Each piece is an arc of fixed length that bends by θ [rad]; its curvature is θ over the length
    (paper 001, eq 4, with the angle in radians).
    """

    name: Annotated[str, Field(min_length=1)] = "pressure_fit"
    source: str = ""
    """Where the measured angles come from, in words."""
    lengths: Annotated[tuple[Positive, ...], PIECES]
    """Of the arcs, from the base outwards [m]."""
    coefficients: Annotated[tuple[Vec4, ...], PIECES]
    """One row a piece, from the constant one to the cubic one [rad]."""
    scale: Positive = 1e5
    """The pressure that counts as 1 in the polynomials [Pa]."""
    pressures: tuple[Number, Number]
    """Lowest and highest that were measured [Pa]: the polynomials say nothing outside."""
    residuals: tuple[NonNegative, ...] = ()
    """Root mean square of what each piece's polynomial leaves [rad]; none where not known."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        pieces = len(self.lengths)
        for field in ("coefficients", "residuals"):
            count = len(getattr(self, field))
            if count != pieces and (count or field == "coefficients"):
                raise FieldError(
                    f"expected one for each of the {pieces} lengths, found {count}", field
                )
        low, high = self.pressures
        if low >= high:
            raise FieldError(
                f"expected the lowest before the highest, found {low:g} and {high:g} Pa",
                "pressures",
            )
        return self
