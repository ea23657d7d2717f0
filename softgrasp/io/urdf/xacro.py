"""Expansion of xacro files by the package xacro, without running code of the file.

xacro evaluates ``${…}`` with Python's ``eval``. Here the syntax tree of an expression is evaluated
node by node: numbers, strings, arithmetic, comparison, conditions, indexing, lists, and the
functions in ``FUNCTIONS``. Everything else is refused: attributes, other calls, lambdas,
comprehensions. Numbers, texts and the number of evaluated expressions and elements are bounded.
``$(find PACKAGE)`` and ``$(arg NAME)`` are read here, too; other substitutions are refused.

``xacro_settings`` sets arguments of ``$(arg …)``, or permits xacro's own evaluator.
"""

from __future__ import annotations

import ast
import io
import math
import operator
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from html import unescape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from softgrasp.description.base import short
from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.io.files import setting
from softgrasp.io.input_limits import MAX_TEXT, check_size

XACRO_ACCESS = "SOFTGRASP_XACRO"
"""Environment variable that permits xacro's own evaluator where it is ``trusted``."""
MAX_NODES = 30_000
"""Largest number of elements that macros make, of which xacro expands 20,000 a second."""
MAX_EXPRESSION, MAX_PARTS = 4_000, 500
"""Largest length of an expression, and number of nodes of its syntax tree."""
MAX_BITS, MAX_ITEMS, MAX_VALUES = 1_024, 100_000, 1_000
"""Largest size of a whole number [bits], length of a text, and number of values in a list, those of
inner lists included."""
Value = bool | int | float | str | list[Any] | tuple[Any, ...] | dict[Any, Any]
_LOCK = threading.Lock()
"""The package xacro keeps its state in globals."""


class XacroSettings(NamedTuple):
    """How xacro files are expanded."""

    arguments: Mapping[str, str] = {}
    """Values of ``$(arg NAME)``."""
    trusted: bool = False
    """Whether xacro's own evaluator is used, which can run code of the file."""


_SETTINGS: ContextVar[XacroSettings | None] = ContextVar("xacro", default=None)


def xacro_settings(
    arguments: Mapping[str, str], *, trusted: bool = False
) -> AbstractContextManager[None]:
    """Expand xacro files in this context with ``$(arg NAME)`` values, or xacro's own evaluator."""
    return setting(_SETTINGS, XacroSettings(dict(arguments), trusted))


def settings_now() -> XacroSettings:
    """Return the settings of this context; ``SOFTGRASP_XACRO=trusted`` is one of them."""
    settings = _SETTINGS.get() or XacroSettings()
    return settings._replace(trusted=settings.trusted or os.environ.get(XACRO_ACCESS) == "trusted")


# Expressions
def _power(base: Any, exponent: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(base).bit_length() * abs(exponent) > MAX_BITS:
        raise _Refused(f"a number of at most {MAX_BITS} bits", f"{base} ** {exponent}")
    result = base**exponent
    if isinstance(result, complex):
        raise _Refused("a real number", f"{base} ** {exponent}")
    return result


def _times(first: Any, second: Any) -> Any:
    for repeated, count in ((first, second), (second, first)):
        is_copied = isinstance(repeated, str | list | tuple) and isinstance(count, int)
        if is_copied and len(repeated) * count > MAX_ITEMS:
            raise _Refused(f"at most {MAX_ITEMS} characters or items", "more of them")
    return first * second


def _modulo(first: Any, second: Any) -> Any:
    if isinstance(first, str):
        raise _Refused("numbers", "a text before %")
    return first % second


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: _times, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: _modulo, ast.Pow: _power,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda item, row: item in row, ast.NotIn: lambda item, row: item not in row,
}  # fmt: skip
SIGNS: dict[type, Callable[[Any], Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_,
}  # fmt: skip
MATH: dict[str, Callable[..., Any]] = {
    name: getattr(math, name)
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos",
        "cosh", "degrees", "exp", "fabs", "floor", "fmod", "hypot", "isfinite", "isinf", "isnan",
        "log", "log10", "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )
} | {"pow": _power}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = MATH | {
    "abs": abs, "bool": bool, "float": float, "int": int, "len": len, "max": max, "min": min,
    "round": round, "str": str,
}  # fmt: skip
"""Functions that expressions may call."""
CONSTANTS: dict[str, Value] = {
    "pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan,
}  # fmt: skip


class _Refused(Exception):
    """A part of an expression that is not accepted."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, found {actual}")


def evaluate(expression: str, symbols: Mapping[str, Any]) -> Value:
    """Evaluate the expression in ``${…}`` of a xacro file with properties and parameters by name.

    Raises:
        DescriptionError: It has a part that is not accepted, or cannot be evaluated.
    """
    try:
        if len(expression) > MAX_EXPRESSION:
            raise _Refused(f"at most {MAX_EXPRESSION} characters", f"{len(expression)}")
        tree = ast.parse(expression.strip(), mode="eval")
        if sum(1 for _ in ast.walk(tree)) > MAX_PARTS:
            raise _Refused(f"at most {MAX_PARTS} parts", "more of them")
        value: Value = _Evaluation(symbols).of(tree.body)
        return value
    except _Refused as error:
        raise DescriptionError(f"expression {short(expression)}: {error}") from None
    except (ArithmeticError, LookupError, TypeError, ValueError, SyntaxError) as error:
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise DescriptionError(
            f"expression {short(expression)}: expected one that can be evaluated, found {message}"
        ) from None
    except (RecursionError, MemoryError):
        raise DescriptionError(
            f"expression {short(expression)}: expected fewer nested parts"
        ) from None


class _Evaluation(NamedTuple):
    """Evaluation of syntax trees with some symbols."""

    symbols: Mapping[str, Any]

    def of(self, node: ast.expr) -> Any:
        """Return the value of a node, unless it is too large."""
        value = self._value(node)
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise _Refused(f"a number of at most {MAX_BITS} bits", "a larger one")
        waiting, values, characters = [value], 0, 0
        while waiting:  # a list may hold another one many times over
            item = waiting.pop()
            if isinstance(item, list | tuple):
                if (values := values + len(item)) > MAX_VALUES:
                    raise _Refused(f"at most {MAX_VALUES} values", "more of them")
                waiting.extend(item)
            elif isinstance(item, str) and (characters := characters + len(item)) > MAX_ITEMS:
                raise _Refused(f"at most {MAX_ITEMS} characters", f"{characters}")
        return value

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case ast.Name(id=name) if name in self.symbols and _is_data(self.symbols[name]):
                return self.symbols[name]
            case ast.Name(id=name) if name in CONSTANTS:
                return CONSTANTS[name]
            case ast.Name(id=name):
                raise _Refused("the name of a property, parameter or constant", f"'{name}'")
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in CONSTANTS:
                return CONSTANTS[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self.of(left), self.of(right))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in SIGNS:
                return SIGNS[type(op)](self.of(operand))
            case ast.BoolOp(op=op, values=values):
                return self._either(values, isinstance(op, ast.Or))
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.of(body) if self.of(test) else self.of(other)
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
                return self.of(value)[self.of(index)]
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.of(item) for item in items]
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._function(function)(*(self.of(argument) for argument in arguments))
        raise _Refused(
            "numbers, texts, properties, arithmetic, comparison, indexing and functions such as "
            "sin, sqrt, min",
            f"{ast.unparse(node)!r} (--trust-xacro permits it, for files that you trust)",
        )

    def _either(self, values: list[ast.expr], deciding: bool) -> Any:
        value: Any = not deciding
        for item in values:
            value = self.of(item)
            if bool(value) is deciding:
                break
        return value

    def _compared(self, node: ast.Compare) -> bool:
        left = self.of(node.left)
        for op, other in zip(node.ops, node.comparators, strict=True):
            if type(op) not in OPERATORS:
                raise _Refused("a comparison of values", f"{ast.unparse(node)!r}")
            right = self.of(other)
            if not OPERATORS[type(op)](left, right):
                return False
            left = right
        return True

    def _function(self, function: ast.expr) -> Callable[..., Any]:
        match function:
            case ast.Name(id=name) if name in FUNCTIONS:
                return FUNCTIONS[name]
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in MATH:
                return MATH[name]
        name = ast.unparse(function)
        raise _Refused(
            "a function that expressions may call",
            f"'{name}'; {did_you_mean(name, FUNCTIONS)}; --trust-xacro permits others, for files "
            "that you trust",
        )


def _is_data(value: Any) -> bool:
    if isinstance(value, bool | int | float | str):
        return True
    if isinstance(value, dict):
        return all(_is_data(item) for pair in value.items() for item in pair)
    return isinstance(value, list | tuple) and all(_is_data(item) for item in value)


# Expansion
def package() -> ModuleType:
    """Return the package xacro.

    Raises:
        BackendUnavailable: It is not installed.
    """
    try:
        return import_module("xacro")
    except ImportError:
        raise BackendUnavailable(
            "a .xacro file needs the package xacro; install it: pip install 'softgrasp[xacro]'"
        ) from None


def expand(path: Path, content: bytes, find: Callable[[str, Path], Path | None]) -> bytes:
    """Expand the content of a xacro file; ``find`` returns the directory of a package.

    Raises:
        BackendUnavailable: The package ``xacro`` is not installed.
        DescriptionError: It cannot be expanded, or has something that is not accepted.
    """
    xacro, settings, output = package(), settings_now(), io.StringIO()
    budget = _Budget(xacro)
    others = xacro.eval_extension if settings.trusted else None
    substitute = _Substitutions(xacro, find, others)
    replaced: dict[str, Any] = {"eval_all": budget.eval_all, "parse": budget.parse}
    replaced |= {"eval_extension": substitute}
    replaced |= {} if settings.trusted else {"safe_eval": budget.evaluate}
    with _LOCK, _replacing(xacro, replaced):
        xacro.init_stacks(str(path))
        try:
            with redirect_stderr(output), redirect_stdout(output):
                document = xacro.parse(content.decode())
                xacro.process_doc(document, mappings=dict(settings.arguments))
        except Exception as error:  # noqa: BLE001 - an expression in the file may raise anything
            raise _describe(error, xacro, path) from None
    if output.getvalue().strip():
        message = " ".join(output.getvalue().split())
        warnings.warn(f"{path}: message of xacro: {message}", SoftgraspWarning, stacklevel=2)
    return bytes(document.toxml(encoding="utf-8"))


@contextmanager
def _replacing(module: Any, functions: Mapping[str, Any]) -> Iterator[None]:
    """Replace functions of a module that it looks up by name."""
    before = {name: getattr(module, name) for name in functions}
    try:
        for name, function in functions.items():
            setattr(module, name, function)
        yield
    finally:
        for name, function in before.items():
            setattr(module, name, function)


def _describe(error: Exception, xacro: Any, path: Path) -> DescriptionError:
    """Return the error of an expansion with macro and line, where they are known."""
    inside = [macro.body.getAttribute("name") for macro in xacro.macrostack]
    where = f"macro '{inside[-1]}': " if inside else ""
    cause: Any = error
    while getattr(cause, "exc", None) is not None:
        cause = cause.exc
    if isinstance(cause, RecursionError):
        message = f"{where}expected macros that end, found some that call themselves (recursion)"
        return DescriptionError(message, file=path)
    message = " ".join(str(cause).split()) or type(cause).__name__
    if not isinstance(cause, DescriptionError):
        message = f"expected macros that expand, found: {' '.join(str(error).split()) or message}"
    line = _line_of(str(error), message, path)
    return DescriptionError(where + message, file=path, line=line)


def _line_of(text: str, message: str, path: Path) -> int | None:
    """Return the line of the expression or substitution that an error names; None if unknown."""
    named = re.search(r"when evaluating expression '(.*?)'\s*$", text, re.DOTALL)
    parts = [named[1]] if named else re.findall(r"\$\([^)]*\)", message)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if any(part in line or part in unescape(line) for part in parts):
            return number
    return None


class _Budget:
    """Counts elements and text of an expansion, and checks files before they are read."""

    def __init__(self, xacro: Any) -> None:
        self._eval_all, self._parse, self._root = xacro.eval_all, xacro.parse, xacro
        self._elements = self._characters = 0

    def eval_all(self, node: Any, macros: Any, symbols: Any) -> Any:
        """Expand an element; refuse too many of them."""
        self._elements += 1
        if self._elements > MAX_NODES:
            raise DescriptionError(f"expected macros that make at most {MAX_NODES} elements")
        self._spend(sum(len(value) for _, value in node.attributes.items()))
        return self._eval_all(node, macros, symbols)

    def evaluate(self, text: str, symbols: Mapping[str, Any], _: Any = None) -> Value:
        """Evaluate an expression; refuse too much text of them together."""
        value = evaluate(text, symbols)
        self._spend(len(value) if isinstance(value, str) else 0)
        return value

    def _spend(self, characters: int) -> None:
        self._characters += characters
        if self._characters > MAX_TEXT:
            raise DescriptionError(
                f"expected macros that make at most {MAX_TEXT / 1e6:g} MB of text, found more"
            )

    def parse(self, text: Any, filename: str | None = None) -> Any:
        """Read an included file, if it is one that can be read at once."""
        if filename is not None:
            path = Path(self._root.root_dir, filename)
            if path.exists() and not path.is_file():
                raise DescriptionError(f"expected a file to include, found '{filename}'")
            if path.is_file():
                check_size(path)
        return self._parse(text, filename)


class _Substitutions(NamedTuple):
    """Substitutions ``$(…)``: the directory of a package, and arguments."""

    xacro: Any
    find: Callable[[str, Path], Path | None]
    others: Callable[[str], str] | None
    """Substitutions of xacro, where they are permitted."""

    def __call__(self, text: str) -> str:
        """Return the value of a substitution.

        Raises:
            DescriptionError: There is none.
        """
        word, *rest = text[2:-1].split() or [""]
        if word == "find" and len(rest) == 1:
            return self._directory(rest[0], text)
        if word == "arg" and len(rest) == 1:
            value = self.xacro.substitution_args_context["arg"].get(rest[0])
            if value is None:
                raise DescriptionError(
                    f"{text}: expected an argument with a value; --arg {rest[0]}=VALUE sets it"
                )
            if len(str(value)) > MAX_ITEMS:  # of defaults made of defaults
                raise DescriptionError(f"{text}: expected at most {MAX_ITEMS} characters")
            return str(value)
        if self.others is not None:
            return self.others(text)
        raise DescriptionError(
            f"expected $(find PACKAGE) or $(arg NAME), found {text}: other substitutions read the "
            "machine, not the file (--trust-xacro permits them, for files that you trust)"
        )

    def _directory(self, name: str, text: str) -> str:
        here = Path(self.xacro.filestack[-1] or ".").absolute().parent
        directory = self.find(name, here)
        if directory is None:
            raise DescriptionError(
                f"{text}: expected a package '{name}' (a directory of that name, or with a "
                f"package.xml that names it), found none in {here} or above it, nor in "
                "ROS_PACKAGE_PATH"
            )
        return str(directory)
