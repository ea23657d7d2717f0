"""Files made to take the machine: each is read in a process of its own with limits.

``python -m tests.support.hostile_files`` makes all of them in the current directory and prints one
JSON line for each: exit code, signal and output of the verb that read it.
"""

import json
import os
import resource
import signal
import struct
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MEMORY = 2 * 10**9
"""Address space above that of the process before it reads [bytes]."""
PROCESSOR_TIME = 5
"""[s]"""
HANGING = 300
"""Time after which a process that needs no processor time ends [s]."""
SECRET = "dGhlIHNlY3JldA"
"""Content of a file and of an environment variable that no output may contain."""
JOINT = '<body><joint/><geom size=".01"/>{}</body>'
MJCF = "<mujoco>{}<worldbody>{}</worldbody></mujoco>"
XACRO = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'
LINK = (
    '<link name="l{0}"><inertial><mass value=".1"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" '
    'ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size=".01 .01 .01"/></geometry>'
    "</collision></link>"
)
TETRAHEDRON = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
HINGE = (
    '<joint name="j{0}" type="revolute"><parent link="l{1}"/><child link="l{0}"/><axis '
    'xyz="0 1 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>'
)
EXPRESSIONS = {
    "class": "().__class__.__base__.__subclasses__()",
    "lambda": "(lambda: [c for c in ().__class__.__base__.__subclasses__()][0])()",
    "system": "__import__('os').system('touch pwned')",
    "open": "open('secret.yaml').read()",
    "load_yaml": "load_yaml('secret.yaml')['key']",
    "xacro.load_yaml": "xacro.load_yaml('secret.yaml')['key']",
    "power": "10**10**10",
    "shift": "1<<10**12",
    "repeat": "'a'*10**11",
    "list": "[0]*10**11",
    "range": "[x for x in range(10**10)]",
    "sum": "sum(range(10**11))",
    "format": "'{0.__class__.__init__.__globals__}'.format(0)",
    "width": "'%999999999999d' % 1",
}
SUBSTITUTIONS = ("$(env KEY)", "$( env KEY)", "$(optenv KEY)", "$(eval env('KEY'))",
                 "$(eval open('secret.yaml').read())")  # fmt: skip


def doubled(levels: int) -> str:
    """Return macros of which each calls the next one twice."""
    macros = "".join(
        f'<xacro:macro name="m{n}"><xacro:m{n + 1}/><xacro:m{n + 1}/></xacro:macro>'
        for n in range(levels)
    )
    return f'{macros}<xacro:macro name="m{levels}"><link name="l"/></xacro:macro><xacro:m0/>'


def robot(count: int, parent: Callable[[int], int]) -> str:
    """Return a URDF robot of links and hinges."""
    links = "".join(map(LINK.format, range(count)))
    hinges = "".join(HINGE.format(n, parent(n)) for n in range(1, count))
    return f'<robot name="r">{links}{hinges}</robot>'


def png(side: int) -> bytes:
    """Return a grey PNG of zeros, side × side pixels of 16 bits."""
    rows = zlib.compressobj(9)
    line = bytes(1 + 2 * side)
    data = b"".join(rows.compress(line) for _ in range(side)) + rows.flush()
    content = b"\x89PNG\r\n\x1a\n"
    header = struct.pack(">IIBBBBB", side, side, 16, 0, 0, 0, 0)
    for kind, part in ((b"IHDR", header), (b"IDAT", data), (b"IEND", b"")):
        check = struct.pack(">I", zlib.crc32(kind + part))
        content += struct.pack(">I", len(part)) + kind + part + check
    return content


def npy(shape: tuple[int, ...]) -> bytes:
    """Return a NumPy file that states a shape and has no values."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def texts() -> dict[str, str | bytes]:
    """Return the contents of the files by their names."""
    files: dict[str, str | bytes] = {
        "nested.xml": MJCF.format("", '<body><joint/><geom size=".01"/>' * 250 + "</body>" * 250),
        "flat.xml": MJCF.format("", JOINT.format(JOINT.format("") * 250)),
        "geoms.xml": MJCF.format("", JOINT.format('<geom size=".01"/>' * 400_000)),
        "some_geoms.xml": MJCF.format("", JOINT.format('<geom size=".01"/>' * 9_000)),
        "overlap.xml": MJCF.format("", JOINT.format("") + JOINT.format('<geom size=".01"/>' * 1900)
                                   + '<body><joint/>' + '<geom size=".01"/>' * 99 + "</body>"),
        "links.urdf": f'<robot name="r">{"".join(map(LINK.format, range(900)))}</robot>',
        "chain.urdf": robot(900, lambda n: n - 1),
        "fan.urdf": robot(900, lambda _: 0),
        "keys.yaml": "".join(f"k{n}: 1\n" for n in range(600_000)),
        "anchors.yaml": "".join(f"- &a{n} {n}\n" for n in range(200_000)),
        "nested.yaml": "a: " + "[" * 900 + "]" * 900,
        "sexagesimal.yaml": "x: 1" + ":59" * 5_000,
        "fingers.yaml": "model: {fingers: {count: 4294967295}}\ncount: 4294967295\n",
        "triangles.stl": b"solid" + bytes(75) + struct.pack("<I", 2**32 - 1),
        "vertices.ply": "ply\nformat binary_little_endian 1.0\nelement vertex 4294967295\n"
        "property float x\nproperty float y\nproperty float z\nelement face 4294967295\n"
        "property list uchar int vertex_indices\nend_header\n",
        "counts.off": "OFF\n4294967295 4294967295 0\n",
        "length.glb": b"glTF" + struct.pack("<IIII", 2, 2**32 - 1, 2**32 - 1, 0x4E4F534A),
        "faces.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4294967295\n",
        "recursion.urdf.xacro": XACRO.format(
            '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>'
        ),
        "doubled.urdf.xacro": XACRO.format(doubled(30)),
        "include.urdf.xacro": XACRO.format('<xacro:include filename="include.urdf.xacro"/>'),
        "properties.urdf.xacro": XACRO.format(
            '<xacro:property name="p0" value="aaaaaaaaaa"/>'
            + "".join(
                f'<xacro:property name="p{n + 1}" value="${{p{n}}}${{p{n}}}"/>' for n in range(40)
            )
            + '<link name="${p40}"/>'
        ),
        "secret.yaml": f"key: {SECRET}\n",
    }  # fmt: skip
    for name, text in EXPRESSIONS.items():
        quoted = text.replace("<", "&lt;").replace('"', "&quot;")
        files[f"{name}.expression.urdf.xacro"] = XACRO.format(f'<link name="${{{quoted}}}"/>')
    for number, text in enumerate(SUBSTITUTIONS):
        files[f"{number}.substitution.urdf.xacro"] = XACRO.format(f'<link name="{text}"/>')
    return files


SUFFIXES = (".yaml", ".xml", ".urdf", ".urdf.xacro", ".wbt", ".stl", ".obj", ".ply", ".glb", ".off")


def made(directory: Path) -> list[str]:
    """Write all files into a directory and return the names of those that are checked."""
    files = texts()
    for name, content in files.items():
        (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
    names = [name for name in files if name != "secret.yaml"]
    for suffix in SUFFIXES:
        os.mkfifo(directory / f"pipe{suffix}")
        (directory / f"device{suffix}").symlink_to("/dev/urandom")
        (directory / f"loop{suffix}").symlink_to(f"loop{suffix}")
        names += [f"{kind}{suffix}" for kind in ("pipe", "device", "loop")]
    return names


def words_of(names: list[str]) -> dict[str, list[str]]:
    """Return the command that reads each file."""
    commands = {name: ["check", name] for name in names}
    for verb, rest in (("grasp", ["sphere"]), ("sweep", []), ("calibrate", []), ("crosscheck", []),
                       ("plan", ["sphere"])):  # fmt: skip
        commands[f"{verb} pipe.yaml"] = [verb, "pipe.yaml", *rest, "--out", "out"]
    return commands


def readers(directory: Path) -> dict[str, Callable[[], Any]]:
    """Return functions that read files which no verb names alone."""
    from softgrasp.vision.image import open_video, read_photo
    from softgrasp.vision.point_picking import read_depth

    (directory / "frames").mkdir()
    (directory / "pipes").mkdir()
    (directory / "wide.png").write_bytes(png(30_000))
    (directory / "frames" / "0.png").symlink_to("../wide.png")
    os.mkfifo(directory / "pipes" / "0.png")
    (directory / "wide.npy").write_bytes(npy((10**6, 10**6)))
    for suffix in (".npy", ".png", ".avi"):
        os.mkfifo(directory / f"depth{suffix}")
    (directory / "device.avi").symlink_to("/dev/urandom")
    return {
        **{f"depth {n}": lambda n=n: read_depth(n, (4, 4))
           for n in ("wide.npy", "wide.png", "depth.npy", "depth.png")},
        **{f"photo {n}": lambda n=n: read_photo(n) for n in ("wide.png", "depth.png")},
        **{f"video {n}": lambda n=n: list(open_video(n, 10.0).frames())
           for n in ("frames", "pipes", "depth.avi", "device.avi")},
    }  # fmt: skip


def in_child(work: Callable[[], int]) -> dict[str, Any]:
    """Run work in a fork with limits of memory and time; return how it ended and its output."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            space = pages * resource.getpagesize() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (space, space))
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_TIME, PROCESSOR_TIME))
            signal.alarm(HANGING)  # who waits for a pipe needs no processor time
            code = 99
            try:
                code = work()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status, used = os.wait4(child, 0)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    return {"code": code, "signal": number, "time": used.ru_utime + used.ru_stime, "text": text}


def reading(read: Callable[[], Any]) -> int:
    """Return 2 and print the sentence where a reader refuses its file, else 0."""
    from softgrasp.errors import SoftgraspError

    try:
        read()
    except SoftgraspError as error:
        print(f"softgrasp: error: {error}")
        return 2
    return 0


def main() -> None:
    """Make and read all files in the current directory."""
    from softgrasp.cli import main as softgrasp

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    os.environ["KEY"] = SECRET
    commands = words_of(made(Path()))
    Path("tip.obj").write_text(TETRAHEDRON, encoding="utf-8")
    Path("ball.urdf").write_text(f'<robot name="r">{LINK.format(0)}</robot>', encoding="utf-8")
    for name in ("ball.urdf", "tip.obj"):
        softgrasp(["check", name])  # what is imported here costs the children nothing
    for name, words in commands.items():
        ended = in_child(lambda words=words: softgrasp(words))
        print(json.dumps({"name": name, **ended}), flush=True)
    for name, read in readers(Path()).items():
        print(json.dumps({"name": name, **in_child(lambda read=read: reading(read))}), flush=True)


if __name__ == "__main__":
    main()
