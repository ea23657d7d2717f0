"""Expressions of xacro files are evaluated without running code of the file."""

import builtins
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.errors import DescriptionError
from softgrasp.io.urdf import xacro
from softgrasp.io.urdf.xacro import FUNCTIONS, evaluate, xacro_settings
from softgrasp.io.urdf.xml import expand

FILE = '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">\n{}\n<link name="a"/></robot>'
SYMBOLS: dict[str, Any] = {"r": 0.5, "name": "left", "sizes": [1, 2, 3], "open": open, "f": eval}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*pi*r**2", 2 * math.pi * 0.25),
        ("-r + 3 // 2 % 2", 0.5),
        ("'left' == name and r < 1 <= 2", True),
        ("'a' if r > 1 else 'b'", "b"),
        ("sizes[-1] * len(sizes)", 9),
        ("name + '_tip'", "left_tip"),
        ("radians(180) - math.pi", 0.0),
        ("max(1, 2.5) + sqrt(4) + atan2(0, 1)", 4.5),
        ("not (1 in sizes)", False),
        ("2**10", 1024),
    ],
)
def test_expressions_have_the_values_of_python(text, value):
    assert evaluate(text, SYMBOLS) == value


@pytest.mark.parametrize(
    "text",
    [
        "(lambda: 1)()", "().__class__.__base__.__subclasses__()", "open('/etc/passwd')",
        "__import__('os').system('id')", "f('1')", "open", "[c for c in sizes]", "sizes.append(1)",
        "'{0.__class__}'.format(r)", "f'{r}'", "name.__class__", "(x := 1)", "{1: 2}",
        "load_yaml('x.yaml')", "math.factorial(9)", "9**9**9", "'a' * 10**9", "[0] * 10**9",
        "'%1000000000d' % 1", "2**-1025 + 2**1025", "(-8) ** 0.5", "1 / 0", "sizes[7]", "1 +", "",
        "max(*sizes)", "round(number=1)", "sizes[0:1]", "(" * 500 + "1" + ")" * 500,
        "1+" * 600 + "1",
        "pow(9, pow(9, 9))", "undefined",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text):
    with pytest.raises(DescriptionError, match=r"^expression "):
        evaluate(text, SYMBOLS)


PROPERTY = '<xacro:property name="x{}" value="{}"/>'
ARGUMENT = '<xacro:arg name="x{}" default="{}"/>'
GROWTH = {
    "lists of lists": (PROPERTY, "${{[x{0}, x{0}]}}", "${len(x40)}"),
    "texts": (PROPERTY, "${{x{0}}}${{x{0}}}", "${x40}"),
    "sums": (PROPERTY, "${{str(x{0}) + str(x{0})}}", "${x40}"),
    "arguments": (ARGUMENT, "$(arg x{0})$(arg x{0})", "$(arg x40)"),
}


@pytest.mark.parametrize("kind", GROWTH)
def test_values_that_double_are_refused(kind, tmp_path):
    pytest.importorskip("xacro")
    element, twice, last = GROWTH[kind]
    lines = [element.format(0, "${[1, 2]}" if kind == "lists of lists" else "ab")]
    lines += [element.format(n, twice.format(n - 1)) for n in range(1, 41)]
    path = tmp_path / "growing.urdf.xacro"
    path.write_text(FILE.format("\n".join([*lines, f'<link name="{last}"/>'])))
    with pytest.raises(DescriptionError, match=r"at most (1000 values|100000 characters)"):
        expand(path)


def test_text_that_macros_copy_is_bounded(tmp_path, monkeypatch):
    pytest.importorskip("xacro")
    content = '<xacro:macro name="m"><link name="{}"/></xacro:macro>' + "<xacro:m/>" * 20
    path = tmp_path / "long.urdf.xacro"
    for text in ("b" * 100, "${'b' * 100}"):
        path.write_text(FILE.format(content.format(text)))
        monkeypatch.setattr(xacro, "MAX_TEXT", 10_000)
        expand(path)
        monkeypatch.setattr(xacro, "MAX_TEXT", 1_500)
        with pytest.raises(DescriptionError, match="expected macros that make at most"):
            expand(path)


NAMES = [*dir(builtins), *FUNCTIONS, "r", "name", "sizes", "open", "math", "os", "__class__"]
ATOMS = st.one_of(
    st.integers(-9, 9).map(str), st.floats(0, 9).map(repr), st.sampled_from(NAMES),
    st.sampled_from(["'a'", "'__class__'", "None", "...", "b'x'"]),
)  # fmt: skip


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "<", "in", "is", "@", "|", "and", "or"]


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner)
        .map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        st.tuples(inner, st.sampled_from(NAMES)).map(lambda parts: f"{parts[0]}.{parts[1]}"),
        st.tuples(inner, inner).map(lambda parts: f"{parts[0]}[{parts[1]}]"),
        inner.map(lambda part: f"(lambda x: {part})"),
        inner.map(lambda part: f"[{part} for x in 'ab']"),
        inner.map(lambda part: f"-{part}"),
        st.lists(inner, max_size=3).map(lambda parts: "[" + ", ".join(parts) + "]"),
    )  # fmt: skip


@given(st.recursive(ATOMS, _grown, max_leaves=12))
@settings(max_examples=400, deadline=None)
def test_what_is_accepted_is_data_and_reaches_no_builtin(text):
    reached: list[str] = []

    def trap(*_: object, **__: object) -> None:
        reached.append(text)

    symbols = {"r": 0.5, "name": "a", "sizes": [1, 2]} | dict.fromkeys(dir(builtins), trap)
    try:
        value = evaluate(text, symbols)
    except DescriptionError:
        value = 0
    assert xacro._is_data(value), text
    assert not reached


def write(directory: Path, content: str, name: str = "x.xacro") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FILE.format(content))
    return path


def test_arguments_come_from_outside_or_from_the_file(tmp_path):
    pytest.importorskip("xacro")
    path = write(
        tmp_path, '<xacro:arg name="side" default="l"/><link name="$(arg side)_${1 + 1}"/>'
    )
    assert expand(path).find("link").get("name") == "l_2"
    with xacro_settings({"side": "r"}):
        assert expand(path).find("link").get("name") == "r_2"
    with pytest.raises(DescriptionError, match=r"x\.xacro:2: .*--arg missing=VALUE sets it"):
        expand(write(tmp_path, '<link name="$(arg missing)"/>')).find("link")


def test_a_package_is_known_by_its_manifest_or_its_name(tmp_path):
    pytest.importorskip("xacro")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "package.xml").write_text("<package><name>grip</name></package>")
    write(tmp_path / "folder", '<link name="inner"/>', "inner.xacro")
    include = '<xacro:include filename="$(find {})/inner.xacro"/>'
    inside = write(tmp_path / "folder" / "urdf", include.format("grip"))
    assert [link.get("name") for link in expand(inside).iter("link")] == ["inner", "a", "a"]
    beside = write(tmp_path, include.format("folder"))
    assert next(expand(beside).iter("link")).get("name") == "inner"
    with pytest.raises(DescriptionError, match=r"x\.xacro:2: .*expected a package 'nowhere'"):
        expand(write(tmp_path, include.format("nowhere")))


@pytest.mark.parametrize(
    "content",
    ["${().__class__}", "$(env HOME)", "$( env HOME)", "$(eval 1)", "$(cwd)", "${load_yaml('x')}"],
)
def test_refusals_name_file_line_and_cure(content, tmp_path):
    pytest.importorskip("xacro")
    path = write(tmp_path, f'<link name="{content}"/>')
    with pytest.raises(DescriptionError, match="--trust-xacro") as refused:
        expand(path)
    assert refused.value.line == 2


def test_macros_that_multiply_or_call_themselves_are_refused(tmp_path, monkeypatch, golden):
    pytest.importorskip("xacro")
    macro = '<xacro:macro name="m{}"><link name="x"/>{}</xacro:macro>'
    calls = [macro.format(k, f"<xacro:m{k + 1}/>" * 10) for k in range(9)]
    bomb = "".join([*calls, macro.format(9, ""), "<xacro:m0/>"])
    monkeypatch.setattr(xacro, "MAX_NODES", 50)
    golden.refused(lambda: expand(write(tmp_path, bomb)), "at most 50 elements")
    monkeypatch.undo()
    with pytest.raises(DescriptionError, match="macros that end"):
        expand(write(tmp_path, macro.format("", "<xacro:m/>") + "<xacro:m/>"))
