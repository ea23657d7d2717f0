"""``softgrasp twin fit``: measured bends of a finger's pieces, and their curves over pressure."""

from __future__ import annotations

from math import radians
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, NoReport, Out

if TYPE_CHECKING:
    from softgrasp.mechanics.pressure_fit import FitReport


def fit(
    angles: Annotated[
        str,
        typer.Argument(
            metavar="ANGLES.csv",
            help="Table pressure_kpa, angle_1_deg, …, one line a pressure; or a shipped one.",
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
        typer.Option(help="Standard deviation of a measured angle; the fit is judged by it."),
    ] = None,
    monotonic: Annotated[
        bool, typer.Option("--monotonic", help="Refuse curves that bend back.")
    ] = False,
    name: Annotated[str, typer.Option(help="Of the fit; else that of the table.")] = "",
    source: Annotated[str, typer.Option(help="Where the angles come from, in words.")] = "",
    no_report: NoReport = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Fit a cubic polynomial of pressure to the bend of each piece of a finger.

    Writes the fit as YAML, its figure, and result.json with all residuals. Where --sigma-deg is
    given, it is accepted when its curves are expected within 0.4 sigma of the true ones.
    """
    from softgrasp.cli.terminal import default_directory, require_writable
    from softgrasp.formats.piece_angles_file import load_piece_angles
    from softgrasp.mechanics.pressure_fit import fit_pressures
    from softgrasp.report.pressure_fit_report import fit_document, write_fit_report

    table = load_piece_angles(angles)
    lengths = _lengths(lengths_mm, angles, table.angles.shape[1])
    title = name or Path(angles).stem
    directory = out if out is not None else default_directory(title)
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
    """Of the pieces [m]: as given, or those of the shipped fit of the same name."""
    from softgrasp import library
    from softgrasp.cli.options import lengths_from_mm
    from softgrasp.errors import DescriptionError
    from softgrasp.formats.pressure_fit_file import load_pressure_fit

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
    from softgrasp.report.pressure_fit_report import (
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
