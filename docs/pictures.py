"""Draw the pictures of pages anew: `python docs/pictures.py docs/lessons/paper000.md …`.

The `python` blocks of a page run in one namespace and an empty folder, as its test does. What they
draw there goes to docs/images/, where the page shows it.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

WIDEST = 1500
"""A picture is drawn for print; on a page it needs no more pixels across."""
IMAGES = Path(__file__).resolve().parent / "images"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)


def draw(page: Path) -> list[str]:
    """Run a page; return the names of the pictures that it made and shows."""
    text = page.read_text(encoding="utf-8")
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            for name, content in FILE.findall(text):
                Path(name).write_text(content, encoding="utf-8")
            names: dict[str, object] = {}
            for block in BLOCK.findall(text):
                exec(compile(block, str(page), "exec"), names)
            made = [path for path in Path().glob("*.*") if f"images/{path.name})" in text]
            for path in made:
                keep(path)
        finally:
            os.chdir(home)
    return [path.name for path in made]


def keep(path: Path) -> None:
    """Copy a picture to where pages show it, made smaller where it is wide."""
    target = IMAGES / path.name
    if path.suffix != ".png":
        shutil.copy(path, target)
        return
    with Image.open(path) as image:
        height = round(image.height * WIDEST / image.width)
        small = image.width > WIDEST
        shown = image.resize((WIDEST, height), Image.Resampling.LANCZOS) if small else image
        shown.convert("RGB").quantize(256).save(target, optimize=True)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(argument, *draw(Path(argument).resolve()))
