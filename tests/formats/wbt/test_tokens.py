"""Text of worlds as tokens."""

from __future__ import annotations

import pytest

from softgrasp.backends.wbt.parser import Token, tokens
from softgrasp.errors import DescriptionError


def pairs(text: str) -> list[tuple[str, str]]:
    return [token[:2] for token in tokens(text, "a.wbt")][:-1]


@pytest.mark.parametrize(
    "number", ["0", "-1", "+2", "1.5", ".5", "-.5", "1.", "1e-06", "-2.5E+3", "007"]
)
def test_numbers(number: str):
    assert pairs(number) == [("number", number)]


@pytest.mark.parametrize("word", ["TRUE", "1e", "0x1", "nan", "inf", "--1", "1.2.3", "a-b", "é"])
def test_all_else_that_is_not_bracketed_or_quoted_is_a_word(word: str):
    assert pairs(word) == [("word", word)]


def test_brackets_and_commas_part_what_stands_beside_them():
    assert pairs('a{b[1,2]}"c"d') == [
        ("word", "a"),
        ("bracket", "{"),
        ("word", "b"),
        ("bracket", "["),
        ("number", "1"),
        ("number", "2"),
        ("bracket", "]"),
        ("bracket", "}"),
        ("string", "c"),
        ("word", "d"),
    ]


def test_comments_end_with_their_line_and_are_no_comments_in_strings():
    assert pairs('a # b "c\n"d # e" # f') == [("word", "a"), ("string", "d # e")]


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (r'"a \"b\" c"', 'a "b" c'),
        (r'"C:\\x"', r"C:\x"),
        (r'"\n"', r"\n"),
        (r'"\\"', "\\"),
        ('""', ""),
        ('"a\nb"', "a\nb"),
    ],
)
def test_strings(written: str, says: str):
    assert pairs(written) == [("string", says)]


def test_tokens_know_where_they_begin():
    result = list(tokens('a\n\n"b\nc" d # e\n', "a.wbt"))
    assert result == [
        Token("word", "a", 1),
        Token("string", "b\nc", 3),
        Token("word", "d", 4),
        Token("end", "", 5),
    ]


def test_a_string_has_an_end():
    with pytest.raises(DescriptionError) as caught:
        pairs('a\n"b" "c')
    assert str(caught.value) == (
        "a.wbt:2: expected a quotation mark that ends this string, found none"
    )
