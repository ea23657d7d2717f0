"""Draw the figures of the gallery anew: `python docs/gallery.py [NAME …]`.

Each figure is one that a command of softgrasp writes; it goes to docs/images/gallery_NAME.png.
"""

import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from pictures import IMAGES, WIDEST
from PIL import Image

import softgrasp as sg
from softgrasp.rendering.camera import Camera
from softgrasp.rendering.video import render_key_frames

COMMANDS: dict[str, tuple[str, str]] = {
    "sweep_outcomes": (
        "sweep four_finger strawberry --grasp precision --density 160,400,700,1200 "
        "--vary contact.static_friction=0.2,0.3,0.5,0.9 --hold",
        "outcomes.png",
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


def wrapped_finger() -> Path:
    """Draw the finger of tests/support/wrapped_finger.py at its end, and the forces along it."""
    example = runpy.run_path(str(IMAGES.parents[1] / "tests" / "support" / "wrapped_finger.py"))
    result = sg.simulate(example["wrapped_scene"]())
    side = Camera((0.03, 0.0, -0.03), 0.22, 90.0, -10.0)
    (image,) = render_key_frames(result, [result.simulated_time], size=(900, 640), camera=side)
    drawn, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    left.imshow(image)
    left.axis("off")
    cell = example["LENGTH"] / example["JOINTS"]
    distance = cell * np.arange(1, example["JOINTS"] + 1)
    right.plot(1e3 * distance, cell * example["contact_force"](distance), label="rod theory")
    right.plot(1e3 * distance, example["mean_forces"](result), "o", label="simulated")
    right.set(
        xlabel="distance from the base [mm]", ylabel="normal force of a link [N]", ylim=(0, 1)
    )
    right.legend(frameon=False)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "figure.png"
        drawn.savefig(path, dpi=150)
        return copied(path, IMAGES / "wrapped_finger.png")


if __name__ == "__main__":
    for name in sys.argv[1:] or [*COMMANDS, "wrapped_finger"]:
        print((wrapped_finger() if name == "wrapped_finger" else draw(name)).name)
