"""Quality of the grasp on the page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import softgrasp as sg
from softgrasp.report.contact_figures import draw_quality
from softgrasp.report.grasp_text import quality_clause, quality_rows
from tests.pads import pads
from tests.scenes import pinch


@cache
def pinched() -> sg.GraspResult:
    return sg.simulate(pinch())


def test_what_is_said_is_what_was_computed() -> None:
    message = pinched().quality
    assert message is not None
    assert quality_clause(pinched()) == (
        f"Force closure since {message['force_closure_s']:.2f} s, with 4 contact points at the end: "
        f"ε = {message['epsilon']:.3g}"
    )
    rows = {row.label: row for row in quality_rows(pinched())}
    assert list(rows) == [
        "ε", "volume", "smallest singular value", "isotropy", "ellipsoid volume", "friction margin",
    ]  # fmt: skip
    assert rows["ε"].value == f"{message['epsilon']:.3g}"
    assert rows["ε"].convention == (
        "largest ball in the L1 wrench space of friction pyramids of 8 edges, unit normal forces, "
        "spin as the contacts have it; moments over 30.0 mm, about the centre of mass"
    )


def test_an_open_grasp_says_why() -> None:
    result = sg.simulate(pads(2, solver=sg.Solver(contact_dimension=3)))
    assert result.quality is not None
    assert quality_clause(result) == (
        f"No force closure at the end with 2 contact points: {result.quality['reason']}"
    )
    nothing = sg.simulate(pinch(duration=0.05))
    assert quality_clause(nothing) == "Nothing touches the object at the end"
    assert quality_rows(nothing) == []


def test_the_figure_is_drawn_with_and_without_closure(tmp_path: Path) -> None:
    for name, result in (("closed", pinched()), ("open", sg.simulate(pinch(duration=0.05)))):
        assert draw_quality(result, tmp_path / f"{name}.png").stat().st_size > 10_000
