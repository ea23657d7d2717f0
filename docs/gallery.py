"""Draw the figures of the gallery anew: `python docs/gallery.py [NAME …]`.

Each figure is one that a command of softgrasp writes; it goes to docs/images/gallery_NAME.png.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from pictures import IMAGES, WIDEST
from PIL import Image

COMMANDS: dict[str, tuple[str, str]] = {
    "sweep_lines": (
        "sweep four_finger strawberry --grasp precision --density 160,400,700,1200 "
        "--vary contact.static_friction=0.2,0.3,0.5,0.9 --hold",
        "lines.png",
    ),
    "soft_lift": ("grasp demo_soft --no-video", "strip.png"),
    "soft_mug": ("grasp soft_mug --no-video", "strip.png"),
    "calibration_shapes": ("calibrate paper000_webots", "shapes.png"),
    "calibration_intervals": ("calibrate paper000_webots", "parameters.png"),
}
"""Command and the figure that it writes, by the name of the image."""


def draw(name: str) -> Path:
    """Run a command and copy its figure."""
    words, figure = COMMANDS[name]
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "softgrasp", *words.split(), "--out", directory]
        run = subprocess.run(command, check=False, capture_output=True, text=True)
        if not (Path(directory) / figure).is_file():
            raise SystemExit(f"{' '.join(command)}: expected {figure}, found none: {run.stderr}")
        return copied(Path(directory) / figure, IMAGES / f"gallery_{name}.png")


def copied(source: Path, target: Path) -> Path:
    """Copy an image with 256 colours, at most as wide as a page shows it."""
    with Image.open(source) as image:
        image.thumbnail((WIDEST, 10 * WIDEST), Image.Resampling.LANCZOS)
        image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(target, optimize=True)
    return target


if __name__ == "__main__":
    for name in sys.argv[1:] or COMMANDS:
        print(draw(name).name)
