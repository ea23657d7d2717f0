"""Register maps: the shipped one, words of every type and order, and error messages."""

import struct
from typing import Any

import pytest

from softgrasp.assets import directory, names
from softgrasp.errors import DescriptionError
from softgrasp.twin.description import PressureRegister, RegisterMap
from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus import allowed, from_words, to_words
from tests.twin.controllers import odd_map

SHIPPED = directory("register_maps") / "softgrasp_default.yaml"


def register(**fields: Any) -> PressureRegister:
    return PressureRegister(**{"address": 0, "scale": 100.0, "limits": (-90e3, 120e3)} | fields)


def test_the_default_map_is_the_proposal():
    result = load_register_map()
    assert names("register_maps") == ["softgrasp_default"]
    assert [item.address for _, item in result.reads if item is not None] == [0, 1, 2, 3, 4]
    assert [item.address for _, item in result.writes if item is not None] == [0, 1, 2, 3, 5]
    assert result.reads.pressure.scale == 100.0
    assert result.reads.positive_target.limits == (0.0, 120e3)
    assert result.writes.negative_target.counts == (-900, 0)
    assert "not in the paper" in SHIPPED.read_text("utf-8")
    assert result.source.startswith("proposal of softgrasp")


def test_a_map_round_trips():
    for item in (load_register_map(), odd_map()):
        assert RegisterMap(**item.model_dump()) == item


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("type_", ["int16", "int32", "float32"])
@pytest.mark.parametrize("scale", [100.0, -100.0, 10.0])
def test_every_pressure_round_trips_within_half_a_count(type_, order, scale):
    item = register(type=type_, word_order=order, scale=scale)
    for step in range(-90, 121, 7):
        pressure = 1e3 * step + 3.7 if step < 120 else 120e3
        words = to_words(item, pressure)
        assert len(words) == item.width
        assert all(0 <= word <= 0xFFFF for word in words)
        exact = 1e-6 * 120e3 if type_ == "float32" else abs(scale) / 2 + 1e-9
        assert abs(from_words(item, words) - pressure) <= exact
        assert allowed(item, from_words(item, words))


def test_swapped_words_are_those_of_the_other_order_backwards():
    big, little = (register(type="float32", word_order=order) for order in ("big", "little"))
    assert to_words(big, 50e3) == list(reversed(to_words(little, 50e3)))
    assert to_words(big, 50e3) == list(struct.unpack(">2H", struct.pack(">f", 500.0)))


def test_limits_between_two_counts_round_inwards():
    item = register(limits=(-89_950.0, 119_950.0))
    assert item.counts == (-899, 1199)
    assert from_words(item, to_words(item, 119_950.0)) == 119_900.0
    assert from_words(item, to_words(item, -89_950.0)) == -89_900.0


def test_values_that_are_not_numbers_are_not_allowed():
    item = register(type="float32")
    for text in ("nan", "inf", "-inf"):
        words = list(struct.unpack(">2H", struct.pack(">f", float(text))))
        assert not allowed(item, from_words(item, words))


LINE = "positive_target: {kind: holding, address: 2, type: int16, scale: 0.1, limits: [0, 120]}"
TRIGGER = "positive_on: {kind: holding, address: 0, type: int16}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (LINE, LINE.replace("address: 2", "address: 1"),
         "yaml:10: reads.positive_target: expected a separate address, found holding 1, which is "
         "reads.negative_on"),
        (LINE, LINE.replace("int16", "uint16").replace("[0, 120]", "[-5, 120]"),
         "reads.positive_target.limits: expected limits that fit uint16 at 100 Pa a count (0 to "
         "6.5535e+06 Pa), found -5000 Pa"),
        (LINE, LINE.replace("[0, 120]", "[0, 4000]"), "expected limits that fit int16"),
        (LINE, LINE.replace("[0, 120]", "[120, 0]"), "expected limits (lowest, highest)"),
        (LINE, LINE.replace("scale: 0.1", "scale: 0"), "expected a pressure that is not zero"),
        (LINE, LINE.replace("scale: 0.1, ", ""), "reads.positive_target.scale: this field is"),
        (LINE, LINE.replace("address: 2", "address: 70000"), "at most 65535, found 70000"),
        (LINE, LINE.replace("int16", "int61"),
         "expected bit, int16, uint16, int32, uint32 or float32, found 'int61'; did you mean "
         "'int16'?"),
        (LINE, LINE.replace("kind: holding", "kind: coil"), "expected bit in a register of kind"),
        (LINE, LINE.replace("address: 2, type: int16", "address: 65535, type: float32"),
         "expected both words of a float32 below 65536"),
        ("positive_target", "positive_traget",
         "no such field; did you mean 'positive_target'? known: "),
        ("unit: kPa", "unit: kpa", "yaml:4: unit: no unit of pressure 'kpa'; did you mean 'kPa'?"),
        ("device_id: 1", "device_id: 300", "device_id: expected a number at most 255, found 300"),
    ],
)  # fmt: skip
def test_errors_of_a_map_name_the_field(old, new, message, tmp_path):
    path = tmp_path / "map.yaml"
    text = SHIPPED.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(DescriptionError) as caught:
        load_register_map(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_what_is_written_must_be_writable(tmp_path):
    head, writes = SHIPPED.read_text("utf-8").split("writes:")
    path = tmp_path / "map.yaml"
    path.write_text(f"{head}writes:{writes.replace('kind: holding', 'kind: input', 1)}", "utf-8")
    message = (
        r"writes.positive_on.kind: expected a kind that can be written, holding or coil, found"
    )
    with pytest.raises(DescriptionError, match=message):
        load_register_map(path)


def test_an_unknown_map_lists_the_known_ones():
    with pytest.raises(DescriptionError, match="no register map 'softgrap_default'; did you mean"):
        load_register_map("softgrap_default")
