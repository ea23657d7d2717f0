"""Reports of results that were saved to a directory, written from their files.

A report depends on the files of its result alone: written later, it has the same bytes as one that
is written with the result.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from softgrasp.errors import ResultError
from softgrasp.io.files import RESULT_FILE, TRAJECTORY_FILE
from softgrasp.rendering.video import SIZE
from softgrasp.rendering.viewpoint import Viewpoint

Progress = Callable[[str, float], None]
"""Called with the name of the file in progress and the completed fraction, 0 to 1."""
MAX_NAMES = 6
"""Maximum number of files in a message."""


class SavedResult(NamedTuple):
    """A kind of saved result, with the function that writes its report."""

    file: str
    """File that only a directory of this kind has."""
    name: str
    write: Callable[..., list[Path]]
    """Function that writes the report and returns its files."""


def write_report_from(
    directory: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    progress: Progress | None = None,
    video_size: tuple[int, int] = SIZE,
    viewpoint: Viewpoint | None = None,
) -> list[Path]:
    """Write the report of a saved result from its files.

    The files of the result stay as they are.

    ``directory`` can be the file that names the kind: ``result.json``, ``calibration.json``,
    ``crosscheck.json``, ``grasp_plan.json`` or ``plan.json``. The options are those of
    ``write_report``.

    Returns:
        The files of the report.

    Raises:
        ResultError: There is no result in the directory, it is damaged or not finished, or the
            directory cannot be written.
        BackendUnavailable: The requested renderer, ffmpeg or pandas is not available.
    """
    directory = Path(directory)
    if directory.name in [kind.file for kind in SAVED_RESULTS]:
        directory = directory.parent
    return kind_in(directory).write(
        directory, renderer=renderer, video=video, progress=progress, video_size=video_size,
        viewpoint=viewpoint,
    )  # fmt: skip


def kind_in(directory: Path) -> SavedResult:
    """Return the kind of the result in a directory.

    Raises:
        ResultError: There is none.
    """
    for kind in SAVED_RESULTS:
        if (directory / kind.file).is_file():
            return kind
    kinds = [f"{kind.file} ({kind.name})" for kind in SAVED_RESULTS]
    raise ResultError(
        f"{directory}: expected a result with {', '.join(kinds[:-1])} or {kinds[-1]}, found "
        f"{_content(directory)}"
    )


def _content(directory: Path) -> str:
    """Describe the contents of a directory in a few words."""
    if not directory.is_dir():
        return "another file" if directory.exists() else "no such directory"
    inside = sorted(
        path.parent.name for kind in SAVED_RESULTS for path in directory.glob(f"*/{kind.file}")
    )
    names = inside or sorted(path.name for path in directory.iterdir())
    text = ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")
    return f"results in its directories {text}" if inside else text or "nothing"


def _write_grasp(directory: Path, **options: Any) -> list[Path]:
    from softgrasp.evaluation.result_files import load_result
    from softgrasp.report.grasp_report import ENSEMBLE_RESULT, write_report

    ensemble = None
    if (directory / ENSEMBLE_RESULT).is_file():
        from softgrasp.sweeps.ensemble import load_ensemble_result

        ensemble = load_ensemble_result(directory)
    result = load_result(directory)
    files = write_report(result, directory, save=False, ensemble=ensemble, **options)
    return [file for file in files if file.name not in (RESULT_FILE, TRAJECTORY_FILE)]


def _write_calibration(directory: Path, **_options: Any) -> list[Path]:
    from softgrasp.calibration.result import load_any_calibration
    from softgrasp.report.calibration import write_calibration_report

    return write_calibration_report(load_any_calibration(directory), directory)


def _write_sweep(directory: Path, **_options: Any) -> list[Path]:
    from softgrasp.report.sweep import write_sweep_report
    from softgrasp.sweeps.run import read_sweep

    return [write_sweep_report(*read_sweep(directory), directory)]


def _write_search(directory: Path, **options: Any) -> list[Path]:
    from softgrasp.report.planner import write_best, write_planner_report
    from softgrasp.sweeps.planner import read_search

    planned = read_search(directory)
    best = write_best(planned, directory, **options)
    report = write_planner_report(planned, directory, best, renderer=options["renderer"])
    return [report, *(candidate.directory for candidate in best)]


def _write_comparison(directory: Path, **_options: Any) -> list[Path]:
    from softgrasp.comparison.compare import load_crosscheck
    from softgrasp.report.comparison import write_crosscheck_report

    return write_crosscheck_report(load_crosscheck(directory), directory)


SAVED_RESULTS = (
    SavedResult("result.json", "a grasp", _write_grasp),
    SavedResult("calibration.json", "a calibration", _write_calibration),
    SavedResult("crosscheck.json", "a comparison of engines", _write_comparison),
    SavedResult("grasp_plan.json", "a grasp search", _write_search),
    SavedResult("plan.json", "a sweep", _write_sweep),
)
"""All kinds; a grasp search comes before a sweep, because it is one as well."""
