"""Tools of ``softgrasp twin``: fit and pick; and twins in ``softgrasp list``.

``fit`` fits measured bending angles over pressure, ``pick`` measures them in an image.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from softgrasp import assets
from softgrasp.errors import DescriptionError
from softgrasp.plugin_api import options, terminal

if TYPE_CHECKING:
    from softgrasp.mechanics import Array
    from softgrasp.twin.piecewise_bending import FitReport
    from softgrasp.vision import Picks


T = TypeVar("T")
Row = dict[str, Any]

# softgrasp twin fit


def fit(
    angles: Annotated[
        str,
        typer.Argument(
            metavar="ANGLES.csv",
            help="Table pressure_kpa, angle_1_deg, … (or Pa, bar, psi, rad), a line per pressure; "
            "or a shipped one.",
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
    accept: Annotated[
        bool, typer.Option("--accept", help="Exit with 0 although the fit is not credible.")
    ] = False,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Fit a cubic polynomial of pressure to the bending angle of each piece of a finger.

    Writes pressure_fit.yaml, and result.json with all residuals. With --sigma-deg the fit is
    accepted when its curves are expected within 0.4 sigma of the true ones. The exit code is 1 if
    the fit is not credible, as where angles are in rad or one of them is wrong.
    """
    from math import radians

    from softgrasp.io import RESULT_FILE
    from softgrasp.twin.files import load_piece_angles, save_pressure_fit
    from softgrasp.twin.fit_checks import assess_curves
    from softgrasp.twin.piecewise_bending import fit_pressures

    table = load_piece_angles(angles)
    lengths = _lengths(lengths_mm, angles, table.angles.shape[1])
    title = name or Path(angles).stem
    directory = terminal.output_directory(title, out, force=force)
    terminal.require_writable(directory)
    sigma = None if sigma_deg is None else radians(sigma_deg)
    source = source or f"fitted to {Path(angles).name}"
    report = fit_pressures(
        table.pressures, table.angles, lengths, sigma=sigma, monotonic=monotonic, name=title,
        source=source,
    )  # fmt: skip
    credibility = assess_curves(report)
    comment = "SI: m, rad, Pa; angle = sum of c_k (pressure / scale)^k, one row per piece."
    file = save_pressure_fit(report.fit, directory / "pressure_fit.yaml", comment=comment)
    document = _fit_document(report) | {"credibility": credibility.document()}
    terminal.note(f"wrote {file}")
    terminal.save_json(document, directory / RESULT_FILE)
    for finding in credibility.findings:
        terminal.show_message("error" if finding.refutes else "warning", finding.sentence)
    if json:
        terminal.put_json(document | {"files": [str(file), str(directory / RESULT_FILE)]})
    else:
        _print_fit(report)
        terminal.put(credibility.sentence)
    if not (credibility.credible or accept):
        raise typer.Exit(1)


def _lengths(lengths_mm: str, table: str, pieces: int) -> list[float]:
    """Return the lengths of the finger pieces [m], specified or of the shipped fit of that name."""
    from softgrasp.twin.files import load_pressure_fit

    lengths = []
    if not lengths_mm and table in assets.names("pressure_fits"):
        lengths = list(load_pressure_fit(table).lengths)
    for part in lengths_mm.split(",") if lengths_mm else ():
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DescriptionError(
                f"--lengths-mm: expected numbers separated by commas, found '{part.strip()}'"
            )
        if number <= 0.0:
            raise DescriptionError(f"--lengths-mm: expected lengths above 0, found {number:g}")
        lengths.append(round(1e-3 * number, 12))  # without digits that the division adds
    if len(lengths) != pieces:
        raise DescriptionError(
            f"--lengths-mm: expected a length for each of the {pieces} pieces of {table}, found "
            f"{len(lengths) or 'none'}"
        )
    return lengths


def _fit_document(report: FitReport) -> Row:
    """Return the content of ``result.json``, in SI; one number per piece in the lists."""
    from softgrasp import __version__

    return {
        "schema_version": 2,
        "softgrasp_version": __version__,
        "kind": "pressure_fit",
        "fit": report.fit.model_dump(mode="json"),
        "condition_scaled": report.condition,
        "condition_kpa": report.condition_kpa,
        "sigma_rad": report.sigma,
        "accepted": report.accepted,
        "rms_rad": report.rms.tolist(),
        "largest_rad": report.largest.tolist(),
        "scatter_rad": report.scatter.tolist(),
        "r_squared": report.r_squared.tolist(),
        "reversals": [reversal._asdict() for reversal in report.reversals],
        "pressures_Pa": report.pressures.tolist(),
        "angles_rad": report.angles.tolist(),
        "residuals_rad": report.residuals.tolist(),
    }


def _print_fit(report: FitReport) -> None:
    from softgrasp.twin.piecewise_bending import MAX_CURVE_ERROR, reversal_clause

    fit, errors = report.fit, report.curve_errors
    low, high, scale = (1e-3 * pressure for pressure in (*fit.pressures, fit.scale))
    back = "; ".join(reversal_clause(fit, reversal) for reversal in report.reversals)
    verdict = "not assessed: the sigma of a measurement is unknown (--sigma-deg)"
    if errors is not None and report.sigma is not None:
        worst = float(errors.max())
        verdict = (
            f"{'accepted' if report.accepted else 'not accepted'}: expected {degrees(worst):.3g}° "
            f"from the truth at worst, {worst / report.sigma:.3g} sigma; the limit is "
            f"{MAX_CURVE_ERROR:g} sigma"
        )
    terminal.put(
        f"fit        {fit.name}: {len(report.pressures)} samples of {len(fit.lengths)} pieces, "
        f"valid from {low:g} to {high:g} kPa\n"
        f"condition  {report.condition:.2g} with pressures over {scale:g} kPa, "
        f"{report.condition_kpa:.2g} with them in kPa\n"
        f"monotonic  {'no: ' + back if back else 'yes'}\ncurves     {verdict}"
    )
    heads = ["piece", "rms [°]", "max [°]", "sigma [°]", "R²"]
    parts = zip(report.rms, report.largest, report.scatter, report.r_squared, strict=True)
    rows = [
        (k, *map(degrees, angles), r_squared) for k, (*angles, r_squared) in enumerate(parts, 1)
    ]
    terminal.put_table(heads, [[f"{number:.4g}" for number in row] for row in rows])


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
            help="Cuts from the base to the tip [pixels]; default: click in a window.",
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
        int, typer.Option(min=1, max=64, help="Pieces of the finger, in the window.")
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
    json: options.Json = False,
) -> None:
    """Measure bending angles of a finger's pieces from points picked at the cuts between them.

    Each angle has a standard deviation from the noise of the picks. Without --points a window with
    the image opens: the left button adds a point, the right button or Backspace removes the last
    one, Enter finishes, Esc cancels.
    """
    from softgrasp.twin.files import append_piece_angles, load_camera
    from softgrasp.vision import (
        angles_text,
        measure_picks,
        pick_in_window,
        read_depth,
        read_photo,
        save_overlay,
    )

    if (pressure_kpa is None) != (append is None):
        missing = "--append" if append is None else "--pressure-kpa"
        raise DescriptionError(f"expected --pressure-kpa and --append together, found no {missing}")
    lens, photo = load_camera(camera), read_photo(image)
    measure = partial(
        measure_picks, photo, lens, depth=None if depth is None else read_depth(depth, photo.shape),
        pick_noise=pick_noise_px, depth_noise=1e-3 * depth_noise_mm, anticlockwise=anticlockwise,
    )  # fmt: skip
    picks = _script(points, line, edges)
    if picks is None:
        terminal.note("click on the image in the window; Esc cancels")
        picks = pick_in_window(photo, pieces, edges, measure)
    if picks is None:
        raise KeyboardInterrupt
    result, written = measure(picks), []
    if append is not None and pressure_kpa is not None:
        written.append(append_piece_angles(append, 1e3 * pressure_kpa, result.angles))
    if overlay is not None:
        written.append(save_overlay(photo, result, overlay))
    if json:
        terminal.put_json({
            "angles_deg": [degrees(angle) for angle in result.angles],
            "sigmas_deg": [degrees(sigma) for sigma in result.sigmas],
            "files": [str(file) for file in written],
        })  # fmt: skip
        return
    terminal.put("\n".join([angles_text(result), *(f"wrote {file}" for file in written)]))


def _script(points: str | None, line: str | None, edges: bool) -> Picks | None:
    """Return the picks of the options; None where points are to be clicked."""
    from softgrasp.vision import Picks

    if points is None:
        if line is not None:
            raise DescriptionError(
                "--line: expected only with --points; in the window the line is clicked"
            )
        return None
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
        try:
            column, row = map(float, word.split(","))
        except ValueError:
            column = row = math.nan
        if not (math.isfinite(column) and math.isfinite(row)):
            raise DescriptionError(f"{option}: expected points as column,row, found '{word}'")
        points.append((column, row))
    if not points:
        raise DescriptionError(f"{option}: expected points as column,row, found none")
    return np.array(points)


# softgrasp list


def twins() -> list[Row]:
    """List twins with their parts."""
    from softgrasp.twin.files import load_twin

    return _list("twins", load_twin, lambda twin: {
        "fingers": len(twin.gripper.fingers),
        "pieces": len(twin.finger.lengths),
        "map": twin.controller.map.name,
        "source": twin.source,
    })  # fmt: skip


def pressure_fits() -> list[Row]:
    """List fits of bending angles over pressure."""
    from softgrasp.twin.files import load_pressure_fit

    return _list("pressure_fits", load_pressure_fit, lambda fit: {
        "pieces": len(fit.lengths),
        "pressures_kpa": [round(1e-3 * pressure, 9) for pressure in fit.pressures],
        "source": fit.source,
    })  # fmt: skip


def register_maps() -> list[Row]:
    """List register maps of controllers."""
    from softgrasp.twin.files import load_register_map

    return _list("register_maps", load_register_map,
                   lambda item: {"unit": item.device_id, "source": item.source})  # fmt: skip


def robot_programs() -> list[Row]:
    """List programs of simulated robots."""
    from softgrasp.twin.files import load_robot_program

    return _list("robot_programs", load_robot_program, lambda program: {
        "arm": program.arm.name,
        "postures": len(program.postures),
        "period_s": program.period,
        "source": program.source,
    })  # fmt: skip


def _list(kind: str, load: Callable[[str], T], row: Callable[[T], Row]) -> list[Row]:
    return [{"name": name} | row(load(name)) for name in assets.names(kind)]
