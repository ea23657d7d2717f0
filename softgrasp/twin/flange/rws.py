"""The JSON documents of Robot Web Services that hold the pose and the joints of a mechanical unit.

Numbers stand in them as text; positions in mm, angles in degrees, quaternions as q1 … q4 with the
real part first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from softgrasp.description.flange import CartesianFields, FlangeSample
from softgrasp.description.problems import short
from softgrasp.errors import BadAnswerError, DescriptionError
from softgrasp.formats.flange_file import json_object

FIELDS = CartesianFields()
TIME = "time"
"""Our simulated robot tells it besides; a real controller does not."""

Document = dict[str, Any]


def cartesian_document(sample: FlangeSample, base: str = "") -> Document:
    """The answer to ``…/cartesian``: position to 1 nm, quaternion and time to nine and six digits.

    Args:
        sample: The pose.
        base: Address of the mechanical unit.
    """
    lengths = [f"{part / FIELDS.length:.6f}" for part in sample.position]
    parts = [f"{part:.9f}" for part in sample.quaternion]
    keys = (*FIELDS.position, *FIELDS.quaternion)
    state = dict(zip(keys, (*lengths, *parts), strict=True))
    return _document("ms-mechunit-cartesian", "cartesian", state, sample.time, base)


def joint_document(joints: Sequence[float], time: float, base: str = "") -> Document:
    """The answer to ``…/jointtarget``: joint angles given in rad, told in degrees."""
    state = {f"rax_{row}": f"{math.degrees(angle):.9f}" for row, angle in enumerate(joints, 1)}
    return _document("ms-jointtarget", "jointtarget", state, time, base)


def _document(kind: str, title: str, state: dict[str, str], time: float, base: str) -> Document:
    entry = {"_type": kind, "_title": title, **state, TIME: f"{time:.6f}"}
    return {"_links": {"base": {"href": base}}, "_embedded": {"_state": [entry]}}


def sample_of(
    body: bytes, time: float, source: str, fields: CartesianFields = FIELDS
) -> FlangeSample:
    """The pose in the body of an answer.

    Args:
        body: What came.
        time: When it came [s]; the time of the sample where ``fields`` name no key for it.
        source: Whose answer it is, for messages.
        fields: Where what stands.

    Raises:
        BadAnswerError: It is no JSON, a key is missing, a value is no finite number, or the
            quaternion is not a unit one; names the source and the key.
    """
    try:
        state = _state(json_object(body), fields)
        position = [_number(state, key) * fields.length for key in fields.position]
        quaternion = [_number(state, key) for key in fields.quaternion]
        time_stamp = _number(state, fields.time) if fields.time else time
        return FlangeSample(time=time_stamp, position=position, quaternion=quaternion)
    except DescriptionError as error:
        raise BadAnswerError(f"{source}: {error}") from None


def _state(document: Document, fields: CartesianFields) -> Document:
    node: Any = document
    json_path = ""
    for key in fields.state:
        json_path += f"[{key}]" if isinstance(key, int) else f".{key}" if json_path else key
        try:
            # a number is a place in a list, and text a key of an object
            fits = isinstance(node, list if isinstance(key, int) else dict)
            node = node[key] if fits else None
        except (KeyError, IndexError):
            node = None
        if node is None:
            raise DescriptionError("expected it in the answer, found none", field=json_path)
    if not isinstance(node, dict):
        raise DescriptionError(f"expected a JSON object, found {short(node)}", field=json_path)
    return node


def _number(state: Document, key: str) -> float:
    if key not in state:
        keys = short(", ".join(map(str, state)))
        raise DescriptionError(f"expected a number, found no such key among {keys}", field=key)
    value = state[key]
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
    except (ValueError, OverflowError):
        pass
    raise DescriptionError(f"expected a number, found {short(value)}", field=key)
