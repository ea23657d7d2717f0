"""Draw the films of the gallery anew: `python docs/films.py [SCENE …]`.

Each is what `softgrasp grasp SCENE` films, smaller and shorter, as a GIF in docs/images/.
"""

import sys
import tempfile
from pathlib import Path

import imageio.v3 as imageio
from PIL import Image

import softgrasp as sg

IMAGES = Path(__file__).resolve().parent / "images"
SIZE, FPS, SECONDS, COLORS = (320, 240), 8, 4.0, 128
SCENES = ("demo", "demo_soft", "two_hands_ball", "table_edge", "santello_sphere", "soft_mug")


def video(name: str) -> Path:
    """Simulate a shipped scene and write its film."""
    result = sg.simulate(sg.load_scene(name))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "film.mp4"
        sg.render_video(result, path, size=SIZE, fps=FPS, seconds=SECONDS)
        frames = [Image.fromarray(frame) for frame in imageio.imiter(path)]
    # one palette for all frames, and no dithering: what stands still costs nothing
    palette = side_by_side(frames[:: len(frames) // 4]).quantize(COLORS)
    small = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    target = IMAGES / f"film_{name}.gif"
    small[0].save(
        target, save_all=True, append_images=small[1:], duration=1000 // FPS, loop=0, optimize=True
    )
    return target


def side_by_side(frames: list[Image.Image]) -> Image.Image:
    """Some frames as one picture, whose colours are those of the whole film."""
    image = Image.new("RGB", (SIZE[0] * len(frames), SIZE[1]))
    for position, frame in enumerate(frames):
        image.paste(frame, (SIZE[0] * position, 0))
    return image


if __name__ == "__main__":
    for scene in sys.argv[1:] or SCENES:
        path = video(scene)
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
