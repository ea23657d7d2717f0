"""``softgrasp twin poses``: a finger as arcs and as rigid pieces, after paper 001."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out

THETAS, PHIS, LENGTHS = "10,15,20,25", "12,8.8,6,3.3", "14,14,12.32,15.39"


def poses(
    fit: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Bends of a fit, at --pressure-kpa.")
    ] = "",
    pressure_kpa: Annotated[
        float | None, typer.Option(help="Pressure at which a fit is taken.")
    ] = None,
    theta_deg: Annotated[
        str, typer.Option(metavar="T1,T2,…", help="Bends of the pieces, base first.")
    ] = "",
    phi_deg: Annotated[
        str, typer.Option(metavar="P1,P2,…", help="Turns about z; paper 001 forces these.")
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
    json: Json = False,
) -> None:
    """Compare arcs with rigid pieces: where the tip is, and how far apart the models are.

    Without --fit and --theta-deg the pieces bend by 10, 15, 20 and 25 degrees. Measured tips are
    compared with each model at their mean.
    """
    from softgrasp.cli.terminal import default_directory, require_writable
    from softgrasp.formats.tip_points_file import load_tip_points
    from softgrasp.report.piece_poses_report import write_poses_report

    thetas, phis, lengths = _finger(fit, pressure_kpa, theta_deg, phi_deg, lengths_mm)
    tips = None if measured is None else load_tip_points(measured)
    directory = out if out is not None else default_directory("poses")
    require_writable(directory)
    document, files = write_poses_report(thetas, phis, lengths, directory, tips)
    if json:
        terminal.put_json(document | {"files": [str(file) for file in files]})
        return
    _print_summary(document, measured is not None)
    terminal.put("files  " + "\n       ".join(map(str, files)))


def _finger(
    fit: str, pressure_kpa: float | None, theta_deg: str, phi_deg: str, lengths_mm: str
) -> tuple[list[float], list[float], list[float]]:
    """Bends and turns [rad] and lengths [m] of the pieces."""
    from math import radians

    from softgrasp.cli.options import lengths_from_mm, number_list
    from softgrasp.errors import DescriptionError
    from softgrasp.formats.pressure_fit_file import load_pressure_fit
    from softgrasp.mechanics.piece_bends import angles_at

    if bool(fit) != (pressure_kpa is not None):
        raise DescriptionError("--fit and --pressure-kpa: expected both or none, found one")
    if fit and (theta_deg or lengths_mm):
        other = "--theta-deg" if theta_deg else "--lengths-mm"
        raise DescriptionError(f"{other}: a fit has its own; expected it or --fit, found both")
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


def _print_summary(document: dict[str, Any], measured: bool) -> None:
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
