"""Write docs/hand_benchmark.md from the directories of ``softgrasp bench hands --out DIR``.

python benchmarks/hands.py DIR…
"""

from __future__ import annotations

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

An object whose width (the smallest distance of parallel planes with the object between them) is
larger than the opening of the hand, the largest distance of two fingers at their outer ends when
the hand is open, is simulated, too, but counted apart, in parentheses. A hand that cannot be read
is refused, with the reason on the page. `half_hand` has no opposing fingers: it is meant for scenes
with a wall. Where the specified grasp of a hand does not hold an object, one is computed for it
([grasp for the object of the scene](imported_hands.md#grasp-for-the-object-of-the-scene)).

## What is not held

- The Jaco hand of robosuite closes by 0.13 of 1.45 rad: the limits of its distal joints (0 to
  2 rad) contradict the equality constraints of its tendons at rest (−0.5 rad). The result says so.
- The mouth of the Z1 gripper is inside the convex hull of its fixed jaw, by which MuJoCo collides.
- Large and heavy objects (cracker box of 0.41 kg, chips can, mustard bottle) by hands with weak
  servos: the Panda of mujoco_menagerie presses with 1.6 N on an object of 65 mm and would need
  4.3 N.
- `shadow_hand_position_actuators` is refused: it is a fragment for another file.

## Tables

Made by `python benchmarks/hands.py DIR…` from the directories of runs; versions are those of
packages, git commits, or else hashes of the files. The commit of softgrasp is that of the last
start: rows that `--resume` found are older.

"""


def main(directories: list[str]) -> None:
    """Write the page with the table of each directory."""
    tables = [(Path(one) / MARKDOWN).read_text(encoding="utf-8") for one in directories]
    text = "\n".join([HEAD.rstrip() + "\n", *tables, f"Measured on {machine()}.\n"])
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
