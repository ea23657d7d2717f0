"""The page of a search for grasps: ranked table, directions, scores, reports of the best."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from softgrasp._version import __version__
from softgrasp.errors import BackendUnavailable
from softgrasp.formats.atomic import write_text
from softgrasp.report import planner_figures as figures
from softgrasp.report.page import NO_IMAGES, REPORT, templates, write_report
from softgrasp.report.planner_words import (
    TEST,
    Best,
    plan_rows,
    ranked_rows,
    summary,
    verdict,
)
from softgrasp.report.shown_picture import embedded_image
from softgrasp.report.strip_figure import final_poses
from softgrasp.simulation.run import simulate
from softgrasp.sweeps.planner import POSE_COLUMNS, PlannedGrasps
from softgrasp.sweeps.storage import COLUMNS, FAILED

INDEX = "index.html"
BEST, DIRECTIONS, SCORES = "best.png", "directions.png", "scores.png"
FILES = (INDEX, BEST, DIRECTIONS, SCORES, "directions.csv", "scores.csv")
"""What the page consists of."""
SHOWN_ROWS = 20
"""Candidates in the page's table."""
MAX_POSES = 5
"""Grasps side by side in the picture of the best."""

Progress = Callable[[str, float], None]
"""Called with what is being written and the part of it that is done, 0 to 1."""


def write_best(
    planned: PlannedGrasps,
    directory: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    progress: Progress | None = None,
) -> list[Best]:
    """Simulate the best grasps with the plan's test, and write the report of each.

    Args:
        planned: The ranked grasps.
        directory: Where ``top-1``, ``top-2``, … go.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no pictures.
        video: Whether to make films.
        progress: Called with what is being written and how far it is.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        ResultError: The folder cannot be written.
    """
    reports = []
    for rank, row in enumerate(planned.best_rows, start=1):
        run_directory = Path(directory) / f"top-{rank}"

        def progress_of_run(file: str, done: float, where: str = run_directory.name) -> None:
            if progress is not None:
                progress(f"{where}/{file}", done)

        progress_of_run("result.json", 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they stand in its report
            result = simulate(planned.tested(row))
        write_report(
            result, run_directory, renderer=renderer, video=video, progress=progress_of_run
        )
        reports.append(Best(row, result, run_directory))
    return reports


def write_planner_report(
    planned: PlannedGrasps,
    directory: str | Path,
    best: Sequence[Best] = (),
    *,
    renderer: str = "auto",
) -> Path:
    """Draw the figures of a search and write ``index.html``.

    Args:
        planned: The ranked grasps.
        directory: Where to.
        best: The best ones, as ``write_best`` wrote them into the same folder.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no picture of the best.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory, scene = Path(directory), planned.plan.scene
    shown = _drawn(planned, best, directory, renderer)
    links = {one.row: f"{one.directory.name}/{REPORT}" for one in best}
    heads, rows = ranked_rows(planned, best, SHOWN_ROWS)
    html = templates().get_template("planner.html.j2").render(
        version=__version__,
        title=f"{scene.hand.name} around {scene.object.name}, {len(planned.table)} poses",
        summary=summary(planned, best),
        properties=plan_rows(planned),
        shown=[(title, embedded_image(path), caption) for title, path, caption in shown],
        heads=heads,
        rows=[(cells, links.get(int(cells[1]), "")) for cells in rows],
        test=heads.index(TEST) if TEST in heads else -1,
        count=len(planned.table),
        failures=_failures(planned),
        columns=[*POSE_COLUMNS.items(), *COLUMNS.items()],
    )  # fmt: skip
    return write_text(directory / INDEX, html)


def _drawn(
    planned: PlannedGrasps, best: Sequence[Best], directory: Path, renderer: str
) -> list[tuple[str, Path, str]]:
    """Headings, figures and what they show."""
    figures_drawn = []
    few = list(best)[:MAX_POSES]
    if few and renderer != NO_IMAGES:
        labels = [f"{rank} (candidate {one.row})" for rank, one in enumerate(few, start=1)]
        try:
            path = final_poses([one.result for one in few], labels, directory / BEST,
                               renderer=renderer, one_viewpoint=False)  # fmt: skip
            caption = " ".join(
                f"{rank}: {verdict(one.result)}." for rank, one in enumerate(few, start=1)
            )
            figures_drawn.append(
                ("How the best ended", path, f"Each from its own best side. {caption}")
            )
        except BackendUnavailable:
            pass  # nothing here can draw; the numbers stay
    path = figures.draw_directions(planned, directory / DIRECTIONS)
    caption = (
        "Where the hand came from, seen from the object, in equal areas; circles are 30° and 60° "
        f"from the middle. {figures.evenness_verdict(planned)}"
    )
    figures_drawn.append(("Directions", path, caption))
    if planned.ranked:
        path = figures.draw_scores(planned, directory / SCORES)
        figures_drawn.append(("Scores", path, f"{figures.correlation_verdict(planned)} Rings and red dots: "
                                      "the best."))  # fmt: skip
    return figures_drawn


def _failures(planned: PlannedGrasps) -> list[tuple[str, int]]:
    """The commonest errors, and how often they came."""
    table = planned.table
    counts = table.loc[table["status"] == FAILED, "error"].value_counts()
    return [(str(error), int(count)) for error, count in counts.head(10).items()]
