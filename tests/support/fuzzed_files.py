"""Read damaged files of every kind in a process with limited memory and time.

``python -m tests.support.fuzzed_files KIND … --count N --seed S`` prints one JSON line per kind:
the number of files, how many were accepted, and what went wrong.
"""

import argparse
import asyncio
import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import trimesh

import softgrasp as sg
from softgrasp import assets, cli
from softgrasp.backends.wbt import problems, read_world
from softgrasp.calibration.files import load_problem
from softgrasp.errors import SoftgraspError
from softgrasp.hydraulics.files import load_hydraulic_arm, load_torques
from softgrasp.io.files import template
from softgrasp.io.hand import load_arm, load_finger
from softgrasp.io.load import load_robot
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.scene import load_criterion, load_plan, load_release
from softgrasp.sweeps.run import read_sweep
from softgrasp.twin import files as twin
from softgrasp.twin.record import TwinRecorder, read_twin_record
from tests.support.mjcf_hands import TENDON
from tests.twin.twins import Bench

MEMORY = 10**9
"""Address space above that of a process that has read the valid file [bytes]."""
PROCESSOR_TIME = 2.0
"""Processor time for one file [s]."""
NUMBERS = (b"0", b"-1", b"1e9", b"1e308", b"-1e-300", b"nan", b"inf", b"99999999999", b"1e400", b"")
PIECES = (
    *(b"[" * 500, b"{" * 500, b"(" * 5000, b"\x00", b"\xff\xfe", b"\x1b[31m", b"&a *a ",
     b"<a>" * 300),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"A" * 100_000, b"../" * 50, b"\n" * 1000, b": - : -"),
    *(b"${" + b"9**" * 20 + b"9}", b"!!python/object:os.system", b"\t", b"'", b'"', b"null"),
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{3,}")


class TooSlow(BaseException):
    """A file took longer than ``PROCESSOR_TIME`` allows."""


class Kind(NamedTuple):
    """A kind of input files."""

    make: Callable[[Path], Path]
    """Write a valid file into a directory and return its path."""
    read: Callable[[Path], object]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Change a file in one to four places."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        content = _changed(content, chance)
    return content


def _changed(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    how = chance.randrange(8)
    if how == 0:
        return content[:place]
    if how == 1:
        return content[:place] + chance.choice(PIECES) + content[place:]
    if how == 2:
        return content[:place] + chance.randbytes(4) + content[place + chance.randrange(8) :]
    if how in (3, 4):
        return _replaced(_NUMBER, content, chance.choice(NUMBERS), chance)
    if how == 5:
        word = chance.choice(_WORD.findall(content) or [b"x"])
        return _replaced(_WORD, content, word, chance)
    lines = content.split(b"\n")
    line = chance.randrange(len(lines))
    if how == 6:
        del lines[line]
    else:
        lines[line:line] = [lines[chance.randrange(len(lines))]] * chance.choice((1, 2, 300))
    return b"\n".join(lines)


def _replaced(
    pattern: re.Pattern[bytes], content: bytes, new: bytes, chance: random.Random
) -> bytes:
    matches = list(pattern.finditer(content[:200_000]))
    if not matches:
        return content
    match = chance.choice(matches)
    return content[: match.start()] + new + content[match.end() :]


def outcome(read: Callable[[Path], object], path: Path) -> tuple[str, str]:
    """Return "read", "refused" or what is wrong, and a detail."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = used.ru_utime + used.ru_stime + 3 * PROCESSOR_TIME
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, resource.RLIM_INFINITY))
    begin = time.process_time()
    try:
        read(path)
        result = ("read", "")
    except SoftgraspError as error:
        result = _judged(str(error))
    except TooSlow:
        result = ("slow", f"more than {3 * PROCESSOR_TIME:g} s")
    except MemoryError:
        result = ("memory", "MemoryError")
    except BaseException as error:  # noqa: BLE001
        result = ("escaped", f"{type(error).__name__}: {str(error)[:200]}")
    spent = time.process_time() - begin
    return ("slow", f"{spent:.2f} s") if spent > PROCESSOR_TIME else result


def _judged(sentence: str) -> tuple[str, str]:
    if "this is a bug of softgrasp" in sentence:
        return "bug", sentence
    if len(sentence) > 2000 or any(ord(letter) < 32 for letter in sentence.strip()):
        return "sentence", repr(sentence[:300])
    return "refused", sentence[:200]


def fuzz(name: str, kind: Kind, count: int, seed: int) -> dict[str, Any]:
    """Read damaged files of one kind."""
    chance = random.Random(f"{name} {seed}")
    counts: dict[str, int] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = kind.make(Path(directory))
        content = path.read_bytes()
        kind.read(path)
        limit_memory()
        for number in range(count):
            changed = damaged(content, chance)
            path.write_bytes(changed)
            result, detail = outcome(kind.read, path)
            counts[result] = counts.get(result, 0) + 1
            if result not in ("read", "refused"):
                wrong.append(f"{number} {result}: {detail}")
                if kept := os.environ.get("KEEP_FUZZED"):
                    Path(kept, f"{name}-{seed}-{number}{path.suffix}").write_bytes(changed)
    return {"kind": name, "counts": counts, "wrong": wrong}


def limit_memory() -> None:
    """Limit the address space to ``MEMORY`` above what is used now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (soft, resource.RLIM_INFINITY))


def shipped(name: str, *others: str) -> Callable[[Path], Path]:
    """Return a function that copies a shipped file, and others beside it."""

    def make(target: Path) -> Path:
        source = assets.root() / name
        for item in (source, *map(source.with_name, others)):
            copy = shutil.copytree if item.is_dir() else shutil.copy
            copy(item, target / item.name)
        return target / source.name

    return make


def written(name: str, text: str) -> Callable[[Path], Path]:
    """Return a function that writes a file."""

    def make(target: Path) -> Path:
        (target / name).write_text(text, encoding="utf-8")
        return target / name

    return make


OBJECT_MJCF = """<mujoco><asset><hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset>
<worldbody><body name="o"><freejoint/><geom type="box" size=".02 .02 .03" mass=".1"/>
<geom type="sphere" size=".02" pos="0 0 .04" mass=".1"/></body></worldbody></mujoco>"""
OBJECT_URDF = """<robot name="o"><link name="b"><inertial><mass value="0.1"/><origin xyz="0 0 0"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial><collision>
<origin xyz="0 0 0.01" rpy="0 0 1"/><geometry><box size="0.04 0.04 0.05"/></geometry></collision>
</link></robot>"""
XACRO = """<robot name="o" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="r" value="0.02"/>
<xacro:macro name="ball" params="n"><link name="b${n}"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>
<sphere radius="${r*2}"/></geometry></collision></link></xacro:macro><xacro:ball n="1"/></robot>"""


POSES = "time_s,x_mm,y_mm,z_mm,qw,qx,qy,qz\n0.0,0.1,0.2,0.3,1,0,0,0\n0.1,0.1,0.2,0.3,1,0,0,0\n"
PLAN = "scene: demo\naxes:\n  object.density: [100, 200]\n"


def _mesh(suffix: str) -> Kind:
    def make(target: Path) -> Path:
        trimesh.creation.icosphere(2, 0.03).export(target / f"ball{suffix}")
        return target / f"ball{suffix}"

    return Kind(make, read_triangles)


def _result(target: Path) -> Path:
    scene = sg.load_scene("four_finger_sphere").replace(duration=0.01, success=None)
    sg.simulate(scene).save(target)
    return target / "result.json"


def _sweep(target: Path) -> Path:
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["sweep", "four_finger", "sphere", "--density", "160,700", "--set",
                  "duration=0.01", "--out", str(target / "sweep"), "--no-report"])  # fmt: skip
    return target / "sweep" / "rows.jsonl"


def _twin_record(target: Path) -> Path:
    bench = Bench(twin.load_twin().replace(dynamics=None))
    recorder = TwinRecorder(target, bench.twin)
    bench.loop.keep(recorder.add)
    asyncio.run(bench.run(10))
    recorder._file.close()
    return target / "record.jsonl"


def _beside(make: Callable[[Path], Path], name: str) -> Callable[[Path], Path]:
    return lambda target: make(target).with_name(name)


def _of_tests(name: str) -> Callable[[Path], Path]:
    source = Path(__file__).parents[1] / name
    return lambda target: Path(shutil.copy(source, target))


def kinds() -> dict[str, Kind]:
    """All kinds of input files, by name."""
    library: dict[str, tuple[Callable[[Path], object], str]] = {
        "hand_dh": (sg.load_hand, "hands/four_finger.yaml"),
        "hand_ucrdf": (sg.load_hand, "assets/robots/soft_gripper_two.ucrdf"),
        "robot": (load_robot, "assets/robots/three_segment_arm.ucrdf"),
        "scene": (sg.load_scene, "assets/scenes/demo.yaml"),
        "release": (load_release, "assets/scenes/paper000_release.yaml"),
        "criterion": (load_criterion, "assets/criteria/sequence.yaml"),
        "finger": (load_finger, "assets/fingers/paper000.yaml"),
        "arm": (load_arm, "assets/arms/ur3e.yaml"),
        "twin": (twin.load_twin, "assets/twins/three_fingers.yaml"),
        "register_map": (twin.load_register_map, "assets/register_maps/softgrasp_default.yaml"),
        "robot_program": (twin.load_robot_program, "assets/robot_programs/pick_and_place.yaml"),
        "pressure_fit": (twin.load_pressure_fit, "assets/pressure_fits/four_piece.yaml"),
        "piece_angles": (twin.load_piece_angles, "assets/pressure_fits/four_piece.csv"),
        "hydraulic_arm": (load_hydraulic_arm, "assets/hydraulic_arms/hydraulic_two_section.yaml"),
        "torques": (load_torques, "assets/hydraulic_arms/paper003_ramp.csv"),
    }
    result, record = (
        lambda path: sg.load_result(path.parent),
        lambda p: read_twin_record(p.parent),
    )
    rows, problem = (lambda path: read_sweep(path.parent), "assets/problems/paper000.yaml")
    texts: dict[str, tuple[Callable[[Path], object], str, str]] = {
        "hand_soft": (sg.load_hand, "hand.yaml", template("hand", "fuzzed")),
        "hand_mjcf": (sg.load_hand, "hand.xml", TENDON),
        "xacro": (sg.load_object, "o.urdf.xacro", XACRO),
        "object": (sg.load_object, "object.yaml", template("object", "fuzzed")),
        "object_urdf": (sg.load_object, "o.urdf", OBJECT_URDF),
        "object_mjcf": (sg.load_object, "o.xml", OBJECT_MJCF),
        "plan": (load_plan, "plan.yaml", PLAN),
        "flange_samples": (twin.load_flange_samples, "poses.csv", POSES),
    }
    return {
        **{name: Kind(shipped(path), read) for name, (read, path) in library.items()},
        **{name: Kind(written(path, text), read) for name, (read, path, text) in texts.items()},
        **{f"mesh_{suffix}": _mesh(f".{suffix}") for suffix in ("stl", "obj", "ply", "off", "glb")},
        "hand_urdf": Kind(_of_tests("first_hour/trigrip.urdf"), sg.load_hand),
        "problem": Kind(shipped(problem, "paper000"), load_problem),
        "result": Kind(_result, result),
        "trajectory": Kind(_beside(_result, "trajectory.npz"), result),
        "journal": Kind(_sweep, rows),
        "sweep_plan": Kind(_beside(_sweep, "plan.json"), rows),
        "world": Kind(_of_tests("backends/wbt/pinch.wbt"), lambda p: problems(read_world(p))),
        "record": Kind(_twin_record, record),
        "twin_json": Kind(_beside(_twin_record, "twin.json"), record),
    }


def main() -> None:
    """Fuzz the kinds that the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    def stop(*_: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGXCPU, stop)
    table = kinds()
    for name in options.names or table:
        print(json.dumps({"kind": name, "begins": True}), flush=True)
        try:
            report = fuzz(name, table[name], options.count, options.seed)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
