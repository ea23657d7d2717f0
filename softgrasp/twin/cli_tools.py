"""Tools of ``softgrasp twin``: fit, pick, poses and accuracy; and twins in ``softgrasp list``.

``fit`` fits measured bending angles over pressure, ``pick`` measures them in an image, ``poses``
compares arcs with rigid pieces, ``accuracy`` measures the tip error of the model on a simulated
finger.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from math import radians
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp import assets
from softgrasp.cli import terminal
from softgrasp.cli.options import Force, Json, NoReport, Out
from softgrasp.errors import DescriptionError

if TYPE_CHECKING:
    from softgrasp.mechanics.transforms import Array
    from softgrasp.twin.accuracy import AccuracyStudy
    from softgrasp.twin.piecewise_bending import FitReport
    from softgrasp.twin.point_picking import PickMeasurement, Picks
    from softgrasp.vision.image import Image


THETAS, PHIS, LENGTHS = "10,15,20,25", "12,8.8,6,3.3", "14,14,12.32,15.39"
Measure = Callable[["Picks"], "PickMeasurement"]
Row = dict[str, Any]

# softgrasp twin fit


def fit(
    angles: Annotated[
        str,
        typer.Argument(
            metavar="ANGLES.csv",
            help="Table pressure_kpa, angle_1_deg, …, one line per pressure; or a shipped one.",
        ),
    ],
    lengths_mm: Annotated[
        str,
        typer.Option(
            metavar="L1,L2,…", help="Lengths of the pieces, base first; shipped tables have theirs."
        ),
    ] = "",
    sigma_deg: Annotated[
        float | None,
        typer.Option(help="Standard deviation of a measured angle; decides on acceptance."),
    ] = None,
    monotonic: Annotated[
        bool, typer.Option("--monotonic", help="Refuse curves that bend back.")
    ] = False,
    name: Annotated[str, typer.Option(help="Name of the fit; default: that of the table.")] = "",
    source: Annotated[str, typer.Option(help="Source of the angles, in words.")] = "",
    no_report: NoReport = False,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Fit a cubic polynomial of pressure to the bending angle of each piece of a finger.

    Writes the fit as YAML, its figure, and result.json with all residuals. With --sigma-deg it
    is accepted when its curves are expected within 0.4 sigma of the true ones.
    """
    from softgrasp.cli.terminal import output_directory, require_writable
    from softgrasp.twin.files import load_piece_angles
    from softgrasp.twin.fit_report import fit_document, write_fit_report
    from softgrasp.twin.piecewise_bending import fit_pressures

    table = load_piece_angles(angles)
    lengths = _lengths(lengths_mm, angles, table.angles.shape[1])
    title = name or Path(angles).stem
    directory = output_directory(title, out, force=force)
    require_writable(directory)
    report = fit_pressures(
        table.pressures,
        table.angles,
        lengths,
        sigma=None if sigma_deg is None else radians(sigma_deg),
        monotonic=monotonic,
        name=title,
        source=source or f"fitted to {Path(angles).name}",
    )
    files = write_fit_report(report, directory, figure=not no_report)
    if json:
        terminal.put_json(fit_document(report) | {"files": [str(file) for file in files]})
        return
    _print_summary(report)
    terminal.put("files      " + "\n           ".join(map(str, files)))


def _lengths(lengths_mm: str, table: str, pieces: int) -> list[float]:
    """Return the lengths of the finger pieces [m], specified or of the shipped fit of that name."""
    from softgrasp import assets as library
    from softgrasp.cli.options import lengths_from_mm
    from softgrasp.errors import DescriptionError
    from softgrasp.twin.files import load_pressure_fit

    if lengths_mm:
        lengths = lengths_from_mm("--lengths-mm", lengths_mm)
    elif table in library.names("pressure_fits"):
        lengths = list(load_pressure_fit(table).lengths)
    else:
        lengths = []
    if len(lengths) != pieces:
        raise DescriptionError(
            f"--lengths-mm: expected a length for each of the {pieces} pieces of {table}, found "
            f"{len(lengths) or 'none'}"
        )
    return lengths


def _print_summary(report: FitReport) -> None:
    from softgrasp.twin.fit_report import (
        condition_clause,
        piece_rows,
        range_clause,
        reversal_words,
        verdict_clause,
    )

    terminal.put(f"fit        {report.fit.name}: {range_clause(report)}")
    terminal.put(f"condition  {condition_clause(report)}")
    terminal.put(f"monotonic  {reversal_words(report)}")
    terminal.put(f"curves     {verdict_clause(report)}")
    heads = ["piece", "length [mm]", "rms [°]", "max [°]", "sigma [°]", "R²"]
    keys = ("piece", "length_mm", "rms_deg", "max_deg", "sigma_deg", "r_squared")
    terminal.put_table(heads, [[f"{row[key]:.4g}" for key in keys] for row in piece_rows(report)])


# softgrasp twin pick


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
            help="Cuts from the base to the tip [pixels]; default: click on a web page.",
        ),
    ] = None,
    line: Annotated[
        str | None,
        typer.Option(metavar='"X,Y X,Y"', help="Reference line, along the finger at its base."),
    ] = None,
    edges: Annotated[
        bool, typer.Option("--edges", help="Two picks per cut, at both edges: far less noise.")
    ] = False,
    pieces: Annotated[
        int, typer.Option(min=1, max=64, help="Pieces of the finger, on the web page.")
    ] = 4,
    anticlockwise: Annotated[
        bool, typer.Option("--anticlockwise", help="Positive angles are anticlockwise.")
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
        Path | None, typer.Option(metavar="PNG", help="Image with the picks and angles.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the web page; 0: any free one.")
    ] = 0,
    json: Json = False,
) -> None:
    """Measure bending angles of a finger's pieces from points picked at the cuts between them.

    Each angle has a standard deviation from the noise of the picks. The web page listens on this
    machine only.
    """
    from softgrasp.twin.files import load_camera
    from softgrasp.twin.point_picking import measure_picks, read_depth
    from softgrasp.vision.image import read_photo

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
            raise DescriptionError(
                "--line: expected only with --points; on the web page the line is clicked"
            )
        picks = _clicked(image_array, pieces, edges, measure, port)
    else:
        picks = _scripted(points, line, edges)
    result = measure(picks)
    written = _written(image_array, result, overlay, pressure_kpa, append)
    _print_picks(result, written, json)


def _check_table(pressure_kpa: float | None, append: Path | None) -> None:
    if (pressure_kpa is None) != (append is None):
        missing = "--append" if append is None else "--pressure-kpa"
        raise DescriptionError(f"expected --pressure-kpa and --append together, found no {missing}")


def _clicked(image_array: Image, pieces: int, edges: bool, measure: Measure, port: int) -> Picks:
    """Serve the browser page for picking points until the user finishes."""
    from softgrasp.twin.point_picking import PickServer, PickTarget, pick_overlay

    def preview(picks: Picks) -> tuple[str, Image]:
        result = measure(picks)
        return _angles_text(result), pick_overlay(image_array, result)

    with PickServer(image_array, PickTarget(pieces, edges, line=True), preview, port) as page:
        terminal.note(f"click on the image at {page.url} (Ctrl-C cancels)")
        picks = page.wait()
    assert picks is not None  # wait() without a timeout returns picks
    return picks


def _angles_text(result: PickMeasurement) -> str:
    import numpy as np

    pairs = zip(np.degrees(result.angles), np.degrees(result.sigmas), strict=True)
    text = ", ".join(f"{angle:.2f}° ± {sigma:.2f}°" for angle, sigma in pairs)
    return f"pieces bend, base first: {text}"


def _scripted(points: str, line: str | None, edges: bool) -> Picks:
    from softgrasp.twin.point_picking import Picks

    cuts = _points("--points", points)
    if edges:
        if len(cuts) % 2:
            raise DescriptionError(
                f"--points: expected two picks per cut with --edges, found {len(cuts)} picks"
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
        raise DescriptionError(f"{option}: expected points as column,row, found none")
    return np.array(points)


def _written(
    image_array: Image,
    result: PickMeasurement,
    overlay: Path | None,
    pressure_kpa: float | None,
    append: Path | None,
) -> list[Path]:
    files = []
    if append is not None and pressure_kpa is not None:
        from softgrasp.twin.files import append_piece_angles

        files.append(append_piece_angles(append, 1e3 * pressure_kpa, result.angles))
    if overlay is not None:
        from softgrasp.twin.point_picking import pick_overlay
        from softgrasp.vision.image import save_image

        files.append(save_image(pick_overlay(image_array, result), overlay))
    return files


def _print_picks(result: PickMeasurement, written: list[Path], json: bool) -> None:
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


# softgrasp twin poses


def poses(
    fit: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Bending angles of a fit, at --pressure-kpa.")
    ] = "",
    pressure_kpa: Annotated[
        float | None, typer.Option(help="Pressure at which a fit is evaluated.")
    ] = None,
    theta_deg: Annotated[
        str, typer.Option(metavar="T1,T2,…", help="Bending angles of the pieces, base first.")
    ] = "",
    phi_deg: Annotated[
        str, typer.Option(metavar="P1,P2,…", help="Angles of the bending planes.")
    ] = PHIS,
    lengths_mm: Annotated[
        str, typer.Option(metavar="L1,L2,…", help="Lengths of the pieces, base first.")
    ] = "",
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="TIPS.csv", help="Measured tips, time_s, x_m, y_m, z_m, in the base frame."
        ),
    ] = None,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Compare tip positions of arcs and of rigid pieces.

    Without --fit and --theta-deg the pieces bend by 10, 15, 20 and 25 degrees. Measured tips are
    compared with each model at their mean.
    """
    from softgrasp.cli.terminal import output_directory, require_writable
    from softgrasp.twin.files import load_tip_points
    from softgrasp.twin.fit_report import write_poses_report

    thetas, phis, lengths = _finger(fit, pressure_kpa, theta_deg, phi_deg, lengths_mm)
    tips = None if measured is None else load_tip_points(measured)
    directory = output_directory("poses", out, force=force)
    require_writable(directory)
    document, files = write_poses_report(thetas, phis, lengths, directory, tips)
    if json:
        terminal.put_json(document | {"files": [str(file) for file in files]})
        return
    _print_poses(document, measured is not None)
    terminal.put("files  " + "\n       ".join(map(str, files)))


def _finger(
    fit: str, pressure_kpa: float | None, theta_deg: str, phi_deg: str, lengths_mm: str
) -> tuple[list[float], list[float], list[float]]:
    """Return bending angles and plane angles [rad] and lengths [m] of the finger pieces."""
    from math import radians

    from softgrasp.cli.options import lengths_from_mm, number_list
    from softgrasp.errors import DescriptionError
    from softgrasp.twin.files import load_pressure_fit
    from softgrasp.twin.piecewise_bending import angles_at

    if bool(fit) != (pressure_kpa is not None):
        raise DescriptionError("--fit and --pressure-kpa: expected both or none, found one")
    if fit and (theta_deg or lengths_mm):
        other = "--theta-deg" if theta_deg else "--lengths-mm"
        raise DescriptionError(f"{other}: expected it or --fit, found both")
    if fit and pressure_kpa is not None:
        pressure_fit = load_pressure_fit(fit)
        lengths = list(pressure_fit.lengths)
        thetas = angles_at(pressure_fit, 1e3 * pressure_kpa).tolist()
    else:
        lengths = lengths_from_mm("--lengths-mm", lengths_mm or LENGTHS)
        thetas = [radians(one) for one in number_list("--theta-deg", theta_deg or THETAS)]
    phis = [radians(one) for one in number_list("--phi-deg", phi_deg)]
    for option, angles in (("--theta-deg", thetas), ("--phi-deg", phis)):
        if len(angles) != len(lengths):
            raise DescriptionError(
                f"{option}: expected one for each of {len(lengths)} pieces, found {len(angles)}"
            )
    return thetas, phis, lengths


def _print_poses(document: dict[str, Any], measured: bool) -> None:
    heads = ["phi", "model", "tip [mm]", "from eq 5 [mm]", "of the finger [%]"]
    heads += ["from measured [%]"] if measured else []
    rows = []
    for key, phi in (("flat", "0"), ("forced", "given")):
        for row in document[key]:
            tip = ", ".join(f"{1e3 * part + 0.0:.3f}" for part in row["tip_m"])
            cells = [phi, row["label"], tip, f"{1e3 * row['from_arcs_m']:.3f}",
                     f"{100.0 * row['from_arcs_fraction']:.2f}"]  # fmt: skip
            if measured:
                fraction = row.get("from_measured_fraction")
                cells.append("" if fraction is None else f"{100.0 * fraction:.2f}")
            rows.append(cells)
    terminal.put_table(heads, rows)


# softgrasp twin accuracy


class Picking(StrEnum):
    """Options of picking points at the cuts between the finger pieces."""

    EDGES = "edges"
    CHORDS = "chords"


def accuracy(
    picks: Annotated[
        Picking, typer.Option(help="Two picks per cut at the edges, or one on the middle line.")
    ] = Picking.EDGES,
    step_kpa: Annotated[
        float, typer.Option(min=1.0, max=50.0, metavar="P", help="Step of the pressures.")
    ] = 5.0,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Render images at the paper's four pressures only."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the noise.")] = 0,
    no_report: NoReport = False,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure the error of the twin's tip against a simulated finger.

    The finger is a chain in MuJoCo, photographed from −90 to 120 kPa with 1 px of noise on picks
    and 2 mm on depths; no real finger was measured.
    """
    from softgrasp.cli.terminal import output_directory, require_writable
    from softgrasp.twin.accuracy import PAPER, accuracy_study, protocol_pressures
    from softgrasp.twin.report import write_accuracy

    directory = output_directory("twin_accuracy", out, force=force)
    require_writable(directory)
    shown = [] if no_report else list(PAPER)
    with terminal.progress_bar() as update:
        study = accuracy_study(
            protocol_pressures(1e3 * step_kpa),
            protocol=picks.value,
            image_pressures=shown if quick else None,
            seed=seed,
            progress=update,
        )
        update("writing", None)
        files = write_accuracy(study, directory, report=not no_report)
    if json:
        terminal.put_json(_document(study) | {"files": [str(file) for file in files]})
        return
    _print_accuracy(study, files)


def _document(study: AccuracyStudy) -> dict[str, Any]:
    return {
        "reference": "simulated",
        "protocol": study.protocol,
        "seed": study.seed,
        "pressures_kpa": (1e-3 * study.pressures).tolist(),
        "errors_percent": (100.0 * study.errors).tolist(),
        "largest_percent": 100.0 * float(study.errors.max()),
    }


def _print_accuracy(study: AccuracyStudy, files: list[Path]) -> None:
    from softgrasp.twin.report import angle_clause, summary, table_rows

    terminal.put_table(["pressure [kPa]", "E here [%]", "E Xiang et al. [%]"], table_rows(study))
    terminal.put(summary(study))
    terminal.put(angle_clause(study))
    terminal.put("files     " + "\n          ".join(map(str, files)))


# softgrasp list


def twins() -> list[Row]:
    """List twins with their parts."""
    from softgrasp.twin.files import load_twin

    return [
        {
            "name": name,
            "fingers": len(twin.gripper.fingers),
            "pieces": len(twin.finger.lengths),
            "map": twin.controller.map.name,
            "source": twin.source,
        }
        for name in assets.names("twins")
        for twin in [load_twin(name)]
    ]


def pressure_fits() -> list[Row]:
    """List fits of bending angles over pressure."""
    from softgrasp.twin.files import load_pressure_fit

    return [
        {
            "name": name,
            "pieces": len(fit.lengths),
            "pressures_kpa": [round(1e-3 * pressure, 9) for pressure in fit.pressures],
            "source": fit.source,
        }
        for name in assets.names("pressure_fits")
        for fit in [load_pressure_fit(name)]
    ]


def register_maps() -> list[Row]:
    """List register maps of controllers."""
    from softgrasp.twin.files import load_register_map

    return [
        {"name": name, "unit": register_map.device_id, "source": register_map.source}
        for name in assets.names("register_maps")
        for register_map in [load_register_map(name)]
    ]


def robot_programs() -> list[Row]:
    """List programs of simulated robots."""
    from softgrasp.twin.files import load_robot_program

    return [
        {
            "name": name,
            "arm": program.arm.name,
            "postures": len(program.postures),
            "period_s": program.period,
            "source": program.source,
        }
        for name in assets.names("robot_programs")
        for program in [load_robot_program(name)]
    ]
