"""Draw the films of the gallery anew: `python docs/films.py [SCENE …]`.

Each is what `softgrasp grasp SCENE` films, smaller and shorter, as a GIF in docs/images/. Without
names also film_hands.gif of the README, three films beside each other.
"""

import sys
import tempfile
from pathlib import Path

import imageio.v3 as imageio
from PIL import Image

import softgrasp as sg

IMAGES = Path(__file__).resolve().parent / "images"
SIZE, FPS, SECONDS, COLORS = (320, 240), 8, 4.0, 128
SCENES = (
    "demo", "demo_soft", "two_hands_ball", "table_edge", "santello_sphere", "soft_mug",
    "pick_and_place",
)  # fmt: skip


THREE = ("demo", "demo_soft", "two_hands_ball")


def frames_of(name: str) -> list[Image.Image]:
    """Simulate a shipped scene and draw its film."""
    result = sg.simulate(sg.load_scene(name))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "film.mp4"
        sg.render_video(result, path, size=SIZE, fps=FPS, seconds=SECONDS)
        return [Image.fromarray(frame) for frame in imageio.imiter(path)]


def write_gif(frames: list[Image.Image], target: Path) -> Path:
    """Write frames as an endless GIF."""
    # one palette for all frames, and no dithering: what stands still costs nothing
    palette = side_by_side(frames[:: len(frames) // 4]).quantize(COLORS)
    small = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    small[0].save(
        target, save_all=True, append_images=small[1:], duration=1000 // FPS, loop=0, optimize=True
    )
    return target


def side_by_side(frames: list[Image.Image]) -> Image.Image:
    """Join pictures of one size in a row."""
    width, height = frames[0].size
    image = Image.new("RGB", (width * len(frames), height))
    for position, frame in enumerate(frames):
        image.paste(frame, (width * position, 0))
    return image


def main(scenes: list[str]) -> None:
    """Write the films of the scenes; of all, and that of the README, if there are none."""
    drawn = {name: frames_of(name) for name in scenes or SCENES}
    paths = [write_gif(frames, IMAGES / f"film_{name}.gif") for name, frames in drawn.items()]
    if not scenes:
        count = min(len(drawn[name]) for name in THREE)
        rows = [[drawn[name][frame] for name in THREE] for frame in range(count)]
        paths.append(write_gif([side_by_side(row) for row in rows], IMAGES / "film_hands.gif"))
    for path in paths:
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
