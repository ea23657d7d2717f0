"""The page of a search for grasps: ranked table, directions, scores, reports of the best."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from softgrasp._version import __version__
from softgrasp.errors import BackendUnavailable
from softgrasp.formats.atomic import write_text
from softgrasp.report import planner_figures as figures
from softgrasp.report.page import NO_PICTURES, PAGE, templates, write_report
from softgrasp.report.planner_words import (
    TEST,
    Best,
    facts,
    ranked_rows,
    summary,
    verdict,
)
from softgrasp.report.shown_picture import shown_picture
from softgrasp.report.strip_figure import final_poses
from softgrasp.simulation.run import simulate
from softgrasp.sweeps.planner import POSE_COLUMNS, PlannedGrasps
from softgrasp.sweeps.rows import COLUMNS, FAILED

INDEX = "index.html"
BEST, DIRECTIONS, SCORES = "best.png", "directions.png", "scores.png"
FILES = (INDEX, BEST, DIRECTIONS, SCORES, "directions.csv", "scores.csv")
"""What the page consists of."""
SHOWN_ROWS = 20
"""Candidates in the page's table."""
MOST_POSES = 5
"""Grasps side by side in the picture of the best."""

Progress = Callable[[str, float], None]
"""Called with what is being written and the part of it that is done, 0 to 1."""


def write_best(
    planned: PlannedGrasps,
    folder: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    progress: Progress | None = None,
) -> list[Best]:
    """Simulate the best grasps with the plan's test, and write the report of each.

    Args:
        planned: The ranked grasps.
        folder: Where ``top-1``, ``top-2``, … go.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no pictures.
        video: Whether to make films.
        progress: Called with what is being written and how far it is.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        ResultError: The folder cannot be written.
    """
    found = []
    for rank, row in enumerate(planned.best_rows, start=1):
        own = Path(folder) / f"top-{rank}"

        def tell(file: str, done: float, where: str = own.name) -> None:
            if progress is not None:
                progress(f"{where}/{file}", done)

        tell("result.json", 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they stand in its report
            result = simulate(planned.tested(row))
        write_report(result, own, renderer=renderer, video=video, progress=tell)
        found.append(Best(row, result, own))
    return found


def write_planner_page(
    planned: PlannedGrasps,
    folder: str | Path,
    best: Sequence[Best] = (),
    *,
    renderer: str = "auto",
) -> Path:
    """Draw the figures of a search and write ``index.html``.

    Args:
        planned: The ranked grasps.
        folder: Where to.
        best: The best ones, as ``write_best`` wrote them into the same folder.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no picture of the best.

    Raises:
        ResultError: The folder cannot be written.
    """
    folder, scene = Path(folder), planned.plan.scene
    shown = _drawn(planned, best, folder, renderer)
    links = {one.row: f"{one.folder.name}/{PAGE}" for one in best}
    heads, rows = ranked_rows(planned, best, SHOWN_ROWS)
    page = templates().get_template("planner.html.j2").render(
        version=__version__,
        title=f"{scene.hand.name} around {scene.object.name}, {len(planned.table)} poses",
        summary=summary(planned, best),
        facts=facts(planned),
        shown=[(title, shown_picture(path), told) for title, path, told in shown],
        heads=heads,
        rows=[(cells, links.get(int(cells[1]), "")) for cells in rows],
        test=heads.index(TEST) if TEST in heads else -1,
        count=len(planned.table),
        failures=_failures(planned),
        columns=[*POSE_COLUMNS.items(), *COLUMNS.items()],
    )  # fmt: skip
    return write_text(folder / INDEX, page)


def _drawn(
    planned: PlannedGrasps, best: Sequence[Best], folder: Path, renderer: str
) -> list[tuple[str, Path, str]]:
    """Headings, figures and what they show."""
    found = []
    few = list(best)[:MOST_POSES]
    if few and renderer != NO_PICTURES:
        labels = [f"{rank} (candidate {one.row})" for rank, one in enumerate(few, start=1)]
        try:
            path = final_poses([one.result for one in few], labels, folder / BEST,
                               renderer=renderer, one_place=False)  # fmt: skip
            told = " ".join(
                f"{rank}: {verdict(one.result)}." for rank, one in enumerate(few, start=1)
            )
            found.append(("How the best ended", path, f"Each from its own best side. {told}"))
        except BackendUnavailable:
            pass  # nothing here can draw; the numbers stay
    path = figures.draw_directions(planned, folder / DIRECTIONS)
    told = (
        "Where the hand came from, seen from the object, in equal areas; circles are 30° and 60° "
        f"from the middle. {figures.evenness_verdict(planned)}"
    )
    found.append(("Directions", path, told))
    if planned.ranked:
        path = figures.draw_scores(planned, folder / SCORES)
        found.append(("Scores", path, f"{figures.correlation_verdict(planned)} Rings and red dots: "
                                      "the best."))  # fmt: skip
    return found


def _failures(planned: PlannedGrasps) -> list[tuple[str, int]]:
    """The commonest errors, and how often they came."""
    table = planned.table
    counts = table.loc[table["status"] == FAILED, "error"].value_counts()
    return [(str(error), int(count)) for error, count in counts.head(10).items()]
