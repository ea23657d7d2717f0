"""Validation of contacts, matrices and numbers that functions of ``softgrasp.quality`` take.

Every function returns its input as floats and raises a ``DescriptionError`` with the name of the
argument, what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array


def check_contacts(points: ArrayLike, normals: ArrayLike) -> tuple[Array, Array]:
    """Convert points and unit normals to arrays of one shape, (n, 3), or (n, 2) in the plane.

    Raises:
        DescriptionError: No contacts, different or other shapes, a number that is not finite, or
            a normal that is not of length 1 (within 1e-6).
    """
    positions, directions = numbers(points, "points"), numbers(normals, "normals")
    for name, rows in (("points", positions), ("normals", directions)):
        if rows.ndim != 2 or rows.shape[1] not in (2, 3) or len(rows) == 0:
            raise DescriptionError(
                "expected one row a contact, (n, 3), or (n, 2) in the plane, with n at least 1; "
                f"found the shape {rows.shape}",
                field=name,
            )
    if positions.shape != directions.shape:
        raise DescriptionError(
            f"expected a normal for each point, {positions.shape}; found {directions.shape}",
            field="normals",
        )
    lengths = np.linalg.norm(directions, axis=1)
    worst = int(np.argmax(np.abs(lengths - 1.0)))
    if abs(lengths[worst] - 1.0) > 1e-6:
        raise DescriptionError(
            f"expected unit normals that point into the object; found length {lengths[worst]:g} "
            f"at contact {worst}",
            field="normals",
        )
    return positions, directions / lengths[:, None]


def check_center(center: ArrayLike, dimension: int) -> Array:
    """Convert the point that moments are taken about, (dimension,).

    In the plane (0, 0, 0) is accepted too, as it is the default.

    Raises:
        DescriptionError: Another shape, or a number that is not finite.
    """
    about = numbers(center, "center")
    if dimension == 2 and about.shape == (3,) and not about.any():
        return np.zeros(2)
    return numbers(about, "center", (dimension,))


def numbers(values: ArrayLike, field: str, shape: tuple[int | None, ...] | None = None) -> Array:
    """Convert finite numbers to an array of floats.

    Args:
        values: Array-like.
        field: Name in messages.
        shape: Expected shape, None for an axis of any length; None for any shape.

    Raises:
        DescriptionError: Not numbers, another shape, or a number that is not finite.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DescriptionError(
            "expected rows of numbers, found something else", field=field
        ) from None
    if shape is not None and (
        array.ndim != len(shape)
        or any(item not in (None, size) for item, size in zip(shape, array.shape, strict=True))
    ):
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise DescriptionError(f"expected the shape ({expected}), found {array.shape}", field=field)
    if not np.isfinite(array).all():
        index = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        at = f" at {index if len(index) > 1 else index[0]}" if index else ""
        raise DescriptionError(f"expected finite numbers, found {array[index]:g}{at}", field=field)
    return array


def number(value: float, field: str, minimum: float = -np.inf, *, above: bool = False) -> float:
    """Convert one finite number, at least or above a bound.

    Raises:
        DescriptionError: Not a number, not finite, or below the bound.
    """
    value_array = numbers(value, field)
    if value_array.ndim:
        raise DescriptionError(
            f"expected one number, found the shape {value_array.shape}", field=field
        )
    checked = float(value_array)
    if checked < minimum or (above and checked == minimum):
        bound = f"above {minimum:g}" if above else f"at least {minimum:g}"
        raise DescriptionError(f"expected a number {bound}, found {checked:g}", field=field)
    return checked


def per_contact(values: ArrayLike, field: str, count: int) -> Array:
    """Convert one number for all contacts, or one per contact, to (count,), each at least 0.

    Raises:
        DescriptionError: Another shape, not finite, or negative.
    """
    checked = numbers(values, field)
    if checked.shape not in ((), (count,)):
        raise DescriptionError(
            f"expected one number, or one a contact, ({count},); found the shape {checked.shape}",
            field=field,
        )
    smallest = float(checked.min(initial=0.0))
    if smallest < 0.0:
        raise DescriptionError(f"expected a number at least 0, found {smallest:g}", field=field)
    return np.broadcast_to(checked, (count,)).astype(float)


def whole_number(value: object, field: str, minimum: int) -> int:
    """Check an integer against its lower bound.

    Raises:
        DescriptionError: Not an integer, or below the bound.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise DescriptionError(
            f"expected a whole number, at least {minimum}; found {value!r}", field=field
        )
    return int(value)


def known(word: str, words: Iterable[str], field: str) -> str:
    """Check that a name is one of the known ones.

    Raises:
        DescriptionError: Unknown; lists the known names and the nearest one.
    """
    words = tuple(words)
    if word not in words:
        raise DescriptionError(
            f"no {field} {word!r}; {did_you_mean(str(word), words)}", field=field
        )
    return word
