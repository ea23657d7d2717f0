"""What the fields of a description mean: the texts under them in the source.

They are read when a sentence needs one: read with the classes, they would cost every start of the
program a third of a second.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise


@cache
def field_docs(model: type) -> dict[str, str]:
    """The text under each field of a class and of those it is made of, by the field's name.

    Empty where there is no source to read.
    """
    docs: dict[str, str] = {}
    for part in reversed(model.__mro__):
        docs |= dict(_documented(part))
    return docs


def _documented(part: type) -> Iterator[tuple[str, str]]:
    if part.__module__ in ("builtins", "pydantic.main"):
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
    except (OSError, TypeError, SyntaxError):
        return
    (written,) = tree.body
    assert isinstance(written, ast.ClassDef)
    for field, text in pairwise(written.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=doc_text)
            ):
                if isinstance(doc_text, str):
                    yield name, inspect.cleandoc(doc_text)
