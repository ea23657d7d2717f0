"""Execute the notebooks and store their outputs: `python notebooks/execute.py [NOTEBOOK …]`.

Cells run as plain Python in one namespace and an empty directory, as their test does: printed text,
the value of a last expression and open figures become outputs, so that code hosts show them. The
notebooks use nothing of IPython's, so that no kernel is needed.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

DPI = 80


def outputs_of(source: str, label: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a cell.

    Args:
        source: Its code.
        label: Its name in tracebacks.
        names: The namespace of the notebook, which the cell changes.

    Returns:
        Its outputs in the format of notebooks.
    """
    tree, printed = ast.parse(source), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, label, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), label, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    outputs += [
        {"output_type": "display_data", "metadata": {}, "data": picture(number)}
        for number in plt.get_fignums()
    ]
    plt.close("all")
    if isinstance(last, ast.Expr) and hasattr(value, "to_html"):
        data = {"text/html": value.to_html(), "text/plain": value.to_string()}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def picture(number: int) -> dict[str, str]:
    """Return an open figure as PNG and as its description in text."""
    file = io.BytesIO()
    plt.figure(number).savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    axes = len(plt.figure(number).axes)
    encoded = base64.b64encode(file.getvalue()).decode("ascii")
    return {"image/png": encoded, "text/plain": f"<Figure with {axes} Axes>"}


def executed(path: Path) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells."""
    book = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    plt.switch_backend("Agg")
    plt.close("all")  # figures that were open before belong to no cell
    home, count = Path.cwd(), 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            for number, cell in enumerate(book["cells"]):
                if cell["cell_type"] == "code":
                    count += 1
                    label = f"{path.name}, cell {number}"
                    cell["outputs"] = outputs_of("".join(cell["source"]), label, names)
                    cell["execution_count"] = count
        finally:
            os.chdir(home)
    return book


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    for argument in sys.argv[1:] or sorted(map(str, here.glob("*.ipynb"))):
        result = json.dumps(executed(Path(argument).resolve()), indent=1, ensure_ascii=False)
        Path(argument).write_text(result + "\n", encoding="utf-8")
        print(argument)
