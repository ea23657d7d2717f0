"""``softgrasp twin pick``: how the pieces of a finger bend, from points picked in its picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json
from softgrasp.errors import DescriptionError

if TYPE_CHECKING:
    from softgrasp.mechanics.picked_angles import Picks
    from softgrasp.mechanics.transforms import Array
    from softgrasp.vision.image import Image
    from softgrasp.vision.pick_measurement import PickMeasurement

Measure = Callable[["Picks"], "PickMeasurement"]


def pick(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="Photograph of the finger.")],
    camera: Annotated[
        Path, typer.Option(metavar="YAML", help="The camera: fx, fy, cx, cy, k1, …, in pixels.")
    ],
    depth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Depths: .npy in metres, 16-bit .png in millimetres."),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(
            metavar='"X,Y X,Y …"',
            help="Cuts from the base to the tip [pixels]; without it a page opens to click on.",
        ),
    ] = None,
    line: Annotated[
        str | None,
        typer.Option(metavar='"X,Y X,Y"', help="Reference line, along the finger at its base."),
    ] = None,
    edges: Annotated[
        bool, typer.Option("--edges", help="Two picks a cut, at both edges: far less noise.")
    ] = False,
    pieces: Annotated[int, typer.Option(min=1, max=64, help="Of the finger, on the page.")] = 4,
    anticlockwise: Annotated[
        bool, typer.Option("--anticlockwise", help="Count bends against the clock as positive.")
    ] = False,
    pick_noise_px: Annotated[
        float, typer.Option(metavar="PX", help="Standard deviation of a pick.")
    ] = 1.0,
    depth_noise_mm: Annotated[
        float, typer.Option(metavar="MM", help="Standard deviation of a pixel's depth.")
    ] = 2.0,
    pressure_kpa: Annotated[
        float | None, typer.Option(metavar="P", help="Pressure in the finger, for --append.")
    ] = None,
    append: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Table to which the angles are added.")
    ] = None,
    overlay: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Picture with the picks and angles.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the page; 0: any that is free.")
    ] = 0,
    json: Json = False,
) -> None:
    """Tell how the pieces of a finger bend, from picks at the cuts between them.

    Each angle comes with its standard deviation from the noise of the picks. The page listens on
    this machine only.
    """
    from softgrasp.formats.camera_file import load_camera
    from softgrasp.vision.depth import read_depth
    from softgrasp.vision.image import read_photo
    from softgrasp.vision.pick_measurement import measure_picks

    _check_table(pressure_kpa, append)
    lens, image_array = load_camera(camera), read_photo(image)
    depths = (
        None if depth is None else read_depth(depth, (image_array.shape[0], image_array.shape[1]))
    )

    def measure(picks: Picks) -> PickMeasurement:
        return measure_picks(
            image_array,
            lens,
            picks,
            depths,
            pick_noise=pick_noise_px,
            depth_noise=1e-3 * depth_noise_mm,
            anticlockwise=anticlockwise,
        )

    if points is None:
        if line is not None:
            raise DescriptionError("--line: expected it only with --points; the page asks for it")
        picks = _clicked(image_array, pieces, edges, measure, port)
    else:
        picks = _scripted(points, line, edges)
    result = measure(picks)
    written = _written(image_array, result, overlay, pressure_kpa, append)
    _print_summary(result, written, json)


def _check_table(pressure_kpa: float | None, append: Path | None) -> None:
    if (pressure_kpa is None) != (append is None):
        missing = "--append" if append is None else "--pressure-kpa"
        raise DescriptionError(f"expected --pressure-kpa and --append together, found no {missing}")


def _scripted(points: str, line: str | None, edges: bool) -> Picks:
    from softgrasp.mechanics.picked_angles import Picks

    cuts = _points("--points", points)
    if edges:
        if len(cuts) % 2:
            raise DescriptionError(
                f"--points: expected two picks a cut with --edges, found {len(cuts)} picks"
            )
        cuts = cuts.reshape(-1, 2, 2)
    return Picks(cuts, None if line is None else _points("--line", line))


def _points(option: str, text: str) -> Array:
    import numpy as np

    points = []
    for word in text.split():
        parts = word.split(",")
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        if len(numbers) != 2 or not np.isfinite(numbers).all():
            raise DescriptionError(f"{option}: expected points as column,row, found '{word}'")
        points.append(numbers)
    if not points:
        raise DescriptionError(f"{option}: expected points as column,row, found nothing")
    return np.array(points)


def _clicked(image_array: Image, pieces: int, edges: bool, measure: Measure, port: int) -> Picks:
    """Serve the page until somebody is done."""
    from softgrasp.vision.pick_overlay import pick_overlay
    from softgrasp.vision.pick_page import PickServer, PickTarget

    def preview(picks: Picks) -> tuple[str, Image]:
        result = measure(picks)
        return _angles_text(result), pick_overlay(image_array, result)

    with PickServer(image_array, PickTarget(pieces, edges, line=True), preview, port) as page:
        terminal.note(f"click on the picture at {page.url} (Ctrl-C gives up)")
        picks = page.wait()
    assert picks is not None  # it waits until there are some
    return picks


def _written(
    image_array: Image,
    result: PickMeasurement,
    overlay: Path | None,
    pressure_kpa: float | None,
    append: Path | None,
) -> list[Path]:
    files = []
    if append is not None and pressure_kpa is not None:
        from softgrasp.formats.piece_angles_file import append_piece_angles

        files.append(append_piece_angles(append, 1e3 * pressure_kpa, result.angles))
    if overlay is not None:
        from softgrasp.vision.image import save_image
        from softgrasp.vision.pick_overlay import pick_overlay

        files.append(save_image(pick_overlay(image_array, result), overlay))
    return files


def _angles_text(result: PickMeasurement) -> str:
    import numpy as np

    pairs = zip(np.degrees(result.angles), np.degrees(result.sigmas), strict=True)
    text = ", ".join(f"{angle:.2f}° ± {sigma:.2f}°" for angle, sigma in pairs)
    return f"pieces bend, base first: {text}"


def _print_summary(result: PickMeasurement, written: list[Path], json: bool) -> None:
    import numpy as np

    if json:
        terminal.put_json(
            {
                "angles_deg": np.degrees(result.angles).tolist(),
                "sigmas_deg": np.degrees(result.sigmas).tolist(),
                "files": [str(file) for file in written],
            }
        )
        return
    terminal.put(_angles_text(result))
    for file in written:
        terminal.put(f"wrote {file}")
