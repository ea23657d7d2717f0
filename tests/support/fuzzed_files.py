"""Read damaged files of every kind in a process with limited memory and time.

``python -m tests.support.fuzzed_files KIND … --count N --seed S`` prints one JSON line per kind:
the number of files, how many were accepted, and what went wrong.
"""

from __future__ import annotations

import argparse
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

import numpy as np

from softgrasp.errors import SoftgraspError
from tests.support.mjcf_hands import TENDON

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
REQUESTED = np.array([[1.0, 2.0], [3.0, 4.0]])
"""Parameters of an evaluation in the journal of a calibration."""
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


def shipped(directory: str, name: str, *others: str) -> Callable[[Path], Path]:
    """Return a function that copies a shipped file, and others beside it."""

    def make(target: Path) -> Path:
        from softgrasp import assets

        for one in (name, *others):
            source = assets.root() / directory / one
            if source.is_dir():
                shutil.copytree(source, target / one)
            else:
                shutil.copy(source, target / one)
        return target / name

    return make


def written(name: str, text: str | bytes) -> Callable[[Path], Path]:
    """Return a function that writes a file."""

    def make(target: Path) -> Path:
        (target / name).write_bytes(text.encode() if isinstance(text, str) else text)
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


def _mesh(suffix: str) -> Callable[[Path], Path]:
    def make(target: Path) -> Path:
        import trimesh

        path = target / f"ball{suffix}"
        trimesh.creation.icosphere(2, 0.03).export(path)
        return path

    return make


def _read_mesh(path: Path) -> object:
    from softgrasp.io.mesh_files import read_triangles

    return read_triangles(path)


def _result(target: Path) -> Path:
    import softgrasp as sg

    scene = sg.load_scene("four_finger_sphere").replace(duration=0.01, success=None)
    sg.simulate(scene).save(target)
    return target / "result.json"


def _trajectory(target: Path) -> Path:
    return _result(target).with_name("trajectory.npz")


def _sweep(target: Path) -> Path:
    from softgrasp.cli import main

    with contextlib.redirect_stdout(io.StringIO()):
        main(["sweep", "four_finger", "sphere", "--density", "160,700", "--set", "duration=0.01",
              "--out", str(target / "sweep"), "--no-report"])  # fmt: skip
    return target / "sweep" / "rows.jsonl"


def _sweep_plan(target: Path) -> Path:
    return _sweep(target).with_name("plan.json")


def _read_sweep(path: Path) -> object:
    from softgrasp.sweeps.run import read_sweep

    return read_sweep(path.parent)


def _evaluations(target: Path) -> Path:
    from softgrasp.calibration.stages import NAME

    _journal(target).record("springs", REQUESTED, 2.0 * REQUESTED)
    return target / NAME


def _journal(directory: Path) -> Any:
    from softgrasp.calibration.stages import Journal

    return Journal(directory, "a problem")


def _read_evaluations(path: Path) -> object:
    return _journal(path.parent).known("springs", REQUESTED)


def _read_world(path: Path) -> object:
    from softgrasp.backends.wbt import problems, read_world

    return problems(read_world(path))


def _twin_record(target: Path) -> Path:
    import asyncio

    from softgrasp.twin.files import load_twin
    from softgrasp.twin.record import TwinRecorder
    from tests.twin.twins import Bench

    bench = Bench(load_twin().replace(dynamics=None))
    recorder = TwinRecorder(target, bench.twin)
    bench.loop.keep(recorder.add)
    asyncio.run(bench.run(10))
    recorder._file.close()
    return target / "record.jsonl"


def _twin_file(target: Path) -> Path:
    return _twin_record(target).with_name("twin.json")


def kinds() -> dict[str, Kind]:
    """All kinds of input files, by name."""
    import softgrasp as sg
    from softgrasp.calibration.files import load_problem
    from softgrasp.hydraulics.files import load_hydraulic_arm, load_torques
    from softgrasp.io.arm import load_arm
    from softgrasp.io.hand import load_finger
    from softgrasp.io.load import load_robot
    from softgrasp.io.scene import load_criterion, load_plan, load_release
    from softgrasp.twin import files as twin
    from softgrasp.twin.record import read_twin_record

    problem = shipped("assets/problems", "paper000.yaml", "paper000")
    return {
        "hand_dh": Kind(shipped("hands", "four_finger.yaml"), sg.load_hand),
        "hand_soft": Kind(written("hand.yaml", _template("hand")), sg.load_hand),
        "hand_urdf": Kind(_trigrip, sg.load_hand),
        "hand_mjcf": Kind(written("hand.xml", TENDON), sg.load_hand),
        "hand_ucrdf": Kind(shipped("assets/robots", "soft_gripper_two.ucrdf"), sg.load_hand),
        "robot": Kind(shipped("assets/robots", "three_segment_arm.ucrdf"), load_robot),
        "xacro": Kind(written("o.urdf.xacro", XACRO), sg.load_object),
        "object": Kind(written("object.yaml", _template("object")), sg.load_object),
        "object_urdf": Kind(written("o.urdf", OBJECT_URDF), sg.load_object),
        "object_mjcf": Kind(written("o.xml", OBJECT_MJCF), sg.load_object),
        "mesh_stl": Kind(_mesh(".stl"), _read_mesh),
        "mesh_obj": Kind(_mesh(".obj"), _read_mesh),
        "mesh_ply": Kind(_mesh(".ply"), _read_mesh),
        "mesh_off": Kind(_mesh(".off"), _read_mesh),
        "mesh_glb": Kind(_mesh(".glb"), _read_mesh),
        "scene": Kind(shipped("assets/scenes", "demo.yaml"), sg.load_scene),
        "release": Kind(shipped("assets/scenes", "paper000_release.yaml"), load_release),
        "criterion": Kind(shipped("assets/criteria", "sequence.yaml"), load_criterion),
        "finger": Kind(shipped("assets/fingers", "paper000.yaml"), load_finger),
        "arm": Kind(shipped("assets/arms", "ur3e.yaml"), load_arm),
        "plan": Kind(_plan, load_plan),
        "problem": Kind(problem, load_problem),
        "result": Kind(_result, lambda path: sg.load_result(path.parent)),
        "trajectory": Kind(_trajectory, lambda path: sg.load_result(path.parent)),
        "journal": Kind(_sweep, _read_sweep),
        "sweep_plan": Kind(_sweep_plan, _read_sweep),
        "evaluations": Kind(_evaluations, _read_evaluations),
        "world": Kind(_world, _read_world),
        "twin": Kind(shipped("assets/twins", "three_fingers.yaml"), twin.load_twin),
        "register_map": Kind(
            shipped("assets/register_maps", "softgrasp_default.yaml"), twin.load_register_map
        ),
        "robot_program": Kind(
            shipped("assets/robot_programs", "pick_and_place.yaml"), twin.load_robot_program
        ),
        "pressure_fit": Kind(
            shipped("assets/pressure_fits", "four_piece.yaml"), twin.load_pressure_fit
        ),
        "piece_angles": Kind(
            shipped("assets/pressure_fits", "four_piece.csv"), twin.load_piece_angles
        ),
        "flange_samples": Kind(written("poses.csv", POSES), twin.load_flange_samples),
        "flange_journal": Kind(_flange_journal, twin.load_flange_samples),
        "record": Kind(_twin_record, lambda path: read_twin_record(path.parent)),
        "twin_json": Kind(_twin_file, lambda path: read_twin_record(path.parent)),
        "hydraulic_arm": Kind(
            shipped("assets/hydraulic_arms", "hydraulic_two_section.yaml"), load_hydraulic_arm
        ),
        "torques": Kind(shipped("assets/hydraulic_arms", "paper003_ramp.csv"), load_torques),
    }


POSES = "time_s,x_mm,y_mm,z_mm,qw,qx,qy,qz\n0.0,0.1,0.2,0.3,1,0,0,0\n0.1,0.1,0.2,0.3,1,0,0,0\n"


def _flange_journal(target: Path) -> Path:
    from softgrasp.twin.files import load_flange_samples, save_flange_samples

    poses = load_flange_samples(written("poses.csv", POSES)(target))
    return save_flange_samples(poses, target / "poses.jsonl")


def _template(kind: str) -> str:
    from softgrasp.io.files import template

    return template(kind, "fuzzed")


def _trigrip(target: Path) -> Path:
    source = Path(__file__).parents[1] / "first_hour" / "trigrip.urdf"
    return Path(shutil.copy(source, target))


def _world(target: Path) -> Path:
    source = Path(__file__).parents[1] / "backends" / "wbt" / "pinch.wbt"
    return Path(shutil.copy(source, target))


def _plan(target: Path) -> Path:
    return written("plan.yaml", "scene: demo\naxes:\n  object.density: [100, 200]\n")(target)


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
