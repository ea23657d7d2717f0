"""Convex decomposition: what is cut, what is kept on disk, what is said without CoACD."""

import importlib.util
import io
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh

from softgrasp.description.geometry import Mesh
from softgrasp.errors import BackendUnavailable, BuildError, SoftgraspWarning
from softgrasp.io import convex_decomposition
from softgrasp.io.convex_decomposition import cache_directory, decompose
from softgrasp.io.files import listening
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_repair import hull_of, signed_volume
from tests.support.outside import outside_file
from tests.support.solids import l_solid

needs_coacd = pytest.mark.skipif(
    importlib.util.find_spec("coacd") is None, reason="coacd is not installed (extra 'mesh')"
)
BOX = trimesh.creation.box((0.04, 0.05, 0.06))


def l_surface() -> tuple[np.ndarray, np.ndarray]:
    solid = l_solid()
    return np.asarray(solid.vertices), np.asarray(solid.faces)


def volume(parts: tuple[np.ndarray, ...]) -> float:
    return sum(hull_of(points).volume for points in parts)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("SOFTGRASP_CACHE", str(directory))
    return directory


@needs_coacd
def test_an_l_is_cut_once_and_kept(own_cache, monkeypatch):
    vertices, faces = l_surface()
    parts = decompose(vertices, faces, 0.05)
    assert len(parts) == 2
    assert volume(parts) == pytest.approx(5 * 0.02**3, rel=0.01)
    (kept,) = own_cache.iterdir()
    assert kept.suffix == ".npz"

    monkeypatch.setattr(subprocess, "Popen", None)
    heard: list[str] = []
    with listening(lambda text, done: heard.append(text)):
        again = decompose(vertices, faces, 0.05)
    assert heard == []  # what is kept needs no patience
    for part, other in zip(parts, again, strict=True):
        np.testing.assert_array_equal(part, other)
    with pytest.raises(TypeError):
        decompose(vertices * 1.001, faces, 0.05)


@needs_coacd
def test_cutting_reports_its_rounds():
    heard: list[tuple[str, float | None]] = []
    vertices, faces = l_surface()
    with listening(lambda text, done: heard.append((text, done))):
        decompose(vertices * 1.01, faces, 0.05)
    first, second, *_ = heard
    assert first == (f"cutting {len(faces)} faces into convex parts", None)
    assert second == (f"cutting {len(faces)} faces into convex parts: round 1, 1 left to cut", None)


def _array_file(_: bytes) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


@pytest.mark.slow
@needs_coacd
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"PK\x03\x04 not an archive",
        lambda content: content[:100] + bytes(50) + content[150:],
        _array_file,
    ],
)
def test_a_damaged_file_is_made_again_the_same(own_cache, damage):
    vertices, faces = l_surface()
    parts = decompose(vertices, faces, 0.05)
    (kept,) = own_cache.iterdir()
    content = kept.read_bytes()
    kept.write_bytes(damage(content))
    again = decompose(vertices, faces, 0.05)
    for part, other in zip(parts, again, strict=True):
        np.testing.assert_array_equal(part, other)
    assert kept.read_bytes() == content


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of faces that CoACD gets, one per call."""
    calls: list[int] = []
    cut = convex_decomposition._cut

    def counted(vertices: np.ndarray, faces: np.ndarray, threshold: float) -> tuple:
        calls.append(len(faces))
        return cut(vertices, faces, threshold)

    monkeypatch.setattr(convex_decomposition, "_cut", counted)
    return calls


def l_mesh(directory: Path, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Mesh:
    vertices, faces = l_surface()
    raw = trimesh.Trimesh(vertices * scale + 0.01, faces, process=False)
    raw.export(directory / "l.obj", digits=17)
    return Mesh(file=str(directory / "l.obj"), decomposition_threshold=0.05)


@pytest.mark.slow
@needs_coacd
def test_the_parts_of_a_scaled_mesh_are_scaled_parts(tmp_path, cuts):
    shape = l_mesh(tmp_path)
    body = load_mesh(shape)
    for scale in (0.5, 1.7, 1000.0, (3.0, 2.0, 0.1)):
        scaled = load_mesh(shape.replace(scale=scale, units="mm" if scale == 1000.0 else "m"))
        factor = np.ones(3) if scale == 1000.0 else np.broadcast_to(scale, 3)
        for (points, faces), (big, big_faces) in zip(body.parts, scaled.parts, strict=True):
            np.testing.assert_allclose(big, points * factor, rtol=0.0, atol=1e-12)
            np.testing.assert_array_equal(big_faces, faces)
            volume_ratio = signed_volume(big, big_faces) / signed_volume(points, faces)
            assert volume_ratio == pytest.approx(np.prod(factor), rel=1e-12)
    assert len(cuts) == 2  # once in m and once in mm


@needs_coacd
def test_the_parts_of_an_unscaled_mesh_are_those_of_coacd(tmp_path):
    body = load_mesh(l_mesh(tmp_path))
    hulls = decompose(body.vertices, body.faces, 0.05)
    for (points, _), hull in zip(body.parts, hulls, strict=True):
        expected = hull_of(hull + body.center_of_mass).vertices - body.center_of_mass
        np.testing.assert_array_equal(points, expected)


@pytest.mark.slow
@needs_coacd
def test_a_mesh_that_gets_other_proportions_is_cut_in_these(tmp_path, cuts):
    shape = l_mesh(tmp_path)
    load_mesh(shape)
    bodies = [load_mesh(shape.replace(scale=(s, s, 6.0 * s))) for s in (1.0, 2.0, 0.3)]
    assert len(cuts) == 2  # one per proportions
    native = load_mesh(l_mesh(tmp_path, (1.0, 1.0, 6.0)))
    for factor, body in zip((1.0, 2.0, 0.3), bodies, strict=True):
        for (points, _), (expected, _) in zip(body.parts, native.parts, strict=True):
            np.testing.assert_allclose(points, expected * factor, rtol=0.0, atol=1e-12)


@needs_coacd
def test_a_filled_hollow_is_a_warning_with_numbers(tmp_path):
    raw = trimesh.Trimesh(*l_surface(), process=False)
    raw.export(tmp_path / "l.stl")
    shape = Mesh(file=str(tmp_path / "l.stl"), decomposition_threshold=1.0, collision="decompose")
    with pytest.warns(SoftgraspWarning, match="cm³ where the mesh fills 40 cm³: hollows") as caught:
        load_mesh(shape)
    assert "lower `decomposition_threshold`, or name convex `parts`" in str(caught[0].message)


def test_convex_pieces_are_not_cut(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    vertices = np.vstack(
        [BOX.vertices, BOX.vertices * 0.5, BOX.vertices + np.array([0.03, 0.03, 0])]
    )
    faces = np.vstack([BOX.faces, (BOX.faces + 8)[:, ::-1], BOX.faces + 16])
    parts = decompose(vertices, faces, 0.03)
    assert [len(points) for points in parts] == [8, 8]
    np.testing.assert_allclose(parts[1].min(axis=0), [0.01, 0.005, -0.03])


def test_without_coacd_the_cure_is_named(monkeypatch, golden):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable) as caught:
        decompose(*l_surface(), 0.03)
    golden(caught.value, "this mesh is not convex and CoACD, which cuts it into")


def test_a_failing_coacd_gives_a_sentence(own_cache, tmp_path, monkeypatch):
    program = tmp_path / "dies.py"
    program.write_text("raise SystemExit(3)\n")
    monkeypatch.setattr(convex_decomposition, "PROGRAM", program)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    with pytest.raises(BuildError, match=r"CoACD could not cut this mesh .*\(exit code 3\)"):
        decompose(*l_surface(), 0.03)
    assert not own_cache.exists()


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOFTGRASP_CACHE", str(tmp_path / "file" / "below"))
    assert len(decompose(BOX.vertices, BOX.faces, 0.03)) == 1


def test_the_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("SOFTGRASP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_directory() == tmp_path / "softgrasp"


# Large and difficult surfaces


def ring(sections: int) -> tuple[np.ndarray, np.ndarray]:
    mesh = trimesh.creation.annulus(0.03, 0.04, 0.02, sections=sections)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def test_a_fine_surface_is_simplified_before_it_is_cut():
    torus = trimesh.creation.torus(0.03, 0.01, major_sections=96, minor_sections=48)
    vertices, faces = np.asarray(torus.vertices), np.asarray(torus.faces)
    heard: list[str] = []
    with listening(lambda text, done: heard.append(text)):
        fewer, kept = convex_decomposition._simplify(vertices, faces)
    assert heard == ["simplifying 9216 faces to 2000"]
    assert len(kept) <= 2000
    assert signed_volume(fewer, kept) == pytest.approx(signed_volume(vertices, faces), rel=1e-6)
    coarse = convex_decomposition._simplify(*l_surface())
    assert len(coarse[1]) == len(l_surface()[1])


@pytest.mark.slow
@needs_coacd
def test_pieces_that_overlap_are_cut_one_by_one(cuts):
    """CoACD does not terminate on both together."""
    first, second = (trimesh.Trimesh(*ring(12)) for _ in range(2))
    second.apply_transform(trimesh.transformations.rotation_matrix(1.5, (1, 0, 0), (0.035, 0, 0)))
    both = trimesh.util.concatenate([first, second])
    parts = decompose(np.asarray(both.vertices), np.asarray(both.faces), 0.1)
    assert len(cuts) == 2
    assert volume(parts) == pytest.approx(first.volume + second.volume, rel=0.2)


@pytest.mark.slow
@needs_coacd
def test_overlapping_pieces_are_a_warning_with_both_volumes(tmp_path):
    first = trimesh.Trimesh(*l_surface(), process=False)
    second = first.copy()
    second.apply_translation((0.0, 0.02, 0.002))
    trimesh.util.concatenate([first, second]).export(tmp_path / "twice.stl")
    shape = Mesh(file=str(tmp_path / "twice.stl"), collision="decompose")
    with pytest.warns(SoftgraspWarning, match="its 2 separate pieces overlap and are united"):
        load_mesh(shape)


def test_where_coacd_dies_the_surface_is_united_by_voxels(tmp_path, monkeypatch):
    program = tmp_path / "dies_first.py"
    program.write_text(
        "import os, signal, sys\n"
        "import numpy as np\n"
        "arrays = np.load(sys.argv[1])\n"
        "if not arrays['preprocess']:\n"
        "    os.kill(os.getpid(), signal.SIGSEGV)\n"
        "points = arrays['vertices']\n"
        "np.savez(sys.argv[2], points=points, sizes=np.array([len(points)]))\n"
    )
    monkeypatch.setattr(convex_decomposition, "PROGRAM", program)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    heard: list[str] = []
    with listening(lambda text, done: heard.append(text)):
        (part,) = decompose(*l_surface(), 0.03)
    assert len(part) == 12
    assert "CoACD failed (exit code -11); uniting the surface by voxels" in heard


@pytest.mark.slow
@needs_coacd
def test_coacd_is_stopped_after_its_cpu_time(tmp_path, monkeypatch):
    monkeypatch.setattr(convex_decomposition, "CPU_LIMIT", 1)
    monkeypatch.setattr(convex_decomposition, "SEARCH", SLOW_SEARCH)
    torus = trimesh.creation.torus(0.03, 0.01, major_sections=36, minor_sections=24)
    with pytest.raises(BuildError, match=r"\(stopped after 1 CPU-s\); use `collision: hull`"):
        decompose(np.asarray(torus.vertices), np.asarray(torus.faces), 0.01)


SLOW_SEARCH = {"mcts_nodes": 60, "mcts_iterations": 2000, "mcts_max_depth": 4, "resolution": 9000}


@needs_coacd
@pytest.mark.slow
def test_the_scan_of_a_mug_is_cut_in_15_cpu_seconds():
    resource = pytest.importorskip("resource")

    def seconds() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(used.ru_utime + used.ru_stime)

    file = outside_file("ycb/025_mug/full.stl")
    before = seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        body = load_mesh(Mesh(file=str(file)))
    assert seconds() - before < 15.0
    filled = convex_decomposition.union_volume(body.parts)
    assert filled == pytest.approx(body.volume, rel=0.15)
