"""Write docs/hand_benchmark.md from a benchmark of hands, or run the benchmark first.

python benchmarks/hands.py DIR              (a directory of ``softgrasp bench hands --out DIR``)
python benchmarks/hands.py DIR --hands …    (options of ``softgrasp bench hands``: runs it)
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measured import machine

from softgrasp.report.hand_benchmark import MARKDOWN

PAGE = Path(__file__).parents[1] / "docs" / "hand_benchmark.md"
HEAD = """# Which objects hands hold

`softgrasp bench hands` closes every hand on every object as `softgrasp grasp HAND OBJECT --hold`
does, and counts which it holds in the hold test. Hands are those of the library, of an installed
robosuite, and of `--hands`: files, or directories that are searched for hands in URDF and MJCF
(mujoco_menagerie, dex-urdf, robosuite). Objects are ten primitives (300 kg/m³), four shipped
ones, and the directories of `--objects`, such as those of the YCB set.

```text
softgrasp bench hands --hands mujoco_menagerie --hands dex-urdf/robots/hands --objects ycb
```

It writes `hands.csv` (a row per grasp), `hands.md` (the table below), `report.html` with the
outcome of every grasp, and contact sheets with the end of every grasp, framed green where the
object was held. Every finished grasp is on the disk at once: `--resume` goes on. `--only NAME,…`
selects hands and objects. The workers do not change the rows.

An object whose smallest extent is larger than the opening of the hand, the largest distance of
two fingertips of the open hand, is simulated, too, but counted apart, in parentheses. A hand that
cannot be read is refused, with the reason on the page.

## Table

This page is made by `python benchmarks/hands.py DIR`, from the files of a run; versions are those
of packages, git commits, or else hashes of the files.

"""


def main(arguments: list[str]) -> None:
    """Run the benchmark where there are options, and write the page."""
    directory, *options = arguments
    if options:
        command = [
            sys.executable,
            "-m",
            "softgrasp",
            "bench",
            "hands",
            *options,
            "--out",
            directory,
        ]
        subprocess.run([*command, "--resume"], check=True)
    table = (Path(directory) / MARKDOWN).read_text(encoding="utf-8")
    PAGE.write_text(f"{HEAD}{table}\nOn {machine()}.\n", encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
