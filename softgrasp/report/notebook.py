"""What notebooks show of values: a table of fields, a picture, a summary with a figure.

Values call ``html_of`` from their ``_repr_html_``, so that this module, and what draws, is imported
only in a notebook.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import mujoco

from softgrasp.description.base import Description, compact_repr, field_docs
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspError
from softgrasp.evaluation.result import GraspResult
from softgrasp.mechanics.transforms import Array
from softgrasp.model.hand import build_hand_spec
from softgrasp.model.object import add_object
from softgrasp.model.shapes import extent
from softgrasp.model.visual import add_visuals
from softgrasp.pipeline import compile_model
from softgrasp.rendering.camera import frame_points, geom_corner_points
from softgrasp.rendering.encoding import write_png
from softgrasp.rendering.renderer import open_renderer
from softgrasp.report.grasp_report import data_url, embed
from softgrasp.report.grasp_text import summary
from softgrasp.report.time_series import draw_object

SIZE = (480, 360)
"""Width and height of a picture [px]."""


def html_of(value: Any) -> str:
    """Return a description, or a result, as HTML for a notebook.

    A picture that cannot be drawn is replaced by the reason.
    """
    if isinstance(value, GraspResult):
        return _result_html(value)
    return _field_table(value) + _image_html(value)


def video_html(path: str | Path) -> str:
    """Return an element that plays a video file, which it contains.

    Raises:
        OSError: The file cannot be read.
    """
    source = embed(Path(path))
    if source.startswith("data:image"):
        return f'<img src="{source}">'
    return f'<video controls loop src="{source}" style="max-width: 100%"></video>'


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[..., None]]:
    """Show a bar, in a notebook or on a terminal, while the block runs.

    Args:
        label: Text before the bar.

    Yields:
        The ``progress`` of ``sweep``, ``plan_grasps`` and ``simulate``: a function of what is done
        and, where it is known, of all. Notebooks need ipywidgets for it.
    """
    from rich.progress import Progress

    with Progress() as bar:
        task = bar.add_task(label, total=None)

        def update(done: float, total: float | None = None) -> None:
            bar.update(task, completed=done, total=total)

        yield update


def _field_table(value: Description) -> str:
    documented = field_docs(type(value))
    rows = [
        f"<tr><td title='{escape(documented.get(name, ''), quote=True)}'><code>{name}</code></td>"
        f"<td style='text-align: left'>{escape(compact_repr(getattr(value, name)))}</td></tr>"
        for name in value.shown_fields() or type(value).model_fields
    ]
    return f"<b>{type(value).__name__}</b><table>{''.join(rows)}</table>"


def _image_html(value: Description) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the run, which are shown there
            model = _model(value)
            if model is None:
                return ""
            return f'<img src="{data_url(_image(model), "image/png")}" width="{SIZE[0]}">'
    except SoftgraspError as error:
        return f"<p>no picture: {escape(str(error))}</p>"


def _model(value: Description) -> mujoco.MjModel | None:
    """Compile what is pictured; None for a value without a shape."""
    if isinstance(value, GraspScene):
        # without a search for a grasp, which may take minutes
        return compile_model(value.replace(adapt_grasp=False))
    if isinstance(value, Hand):
        return build_hand_spec(value).compile()
    if isinstance(value, GraspObject):
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        add_object(spec, value, Pose(), "fixed")
        add_visuals(spec, -max(extent(value.shape)))
        return spec.compile()
    return None


def _image(model: mujoco.MjModel) -> bytes:
    """Draw the start of a model as PNG."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    cloud: Array = geom_corner_points(model, data)
    width, height = SIZE
    camera = frame_points(cloud, azimuth_deg=135.0, elevation_deg=-25.0, aspect=width / height)
    with open_renderer(model, width, height) as renderer:
        image = renderer.draw(data, camera)
    with tempfile.TemporaryDirectory() as directory:
        return write_png(Path(directory) / "image.png", image).read_bytes()


def _result_html(result: GraspResult) -> str:
    with tempfile.TemporaryDirectory() as directory:
        figure = draw_object(result, Path(directory) / "object.png")
        source = data_url(figure.read_bytes(), "image/png")
    title = f"<b>{result.outcome.name}</b>: {escape(result.scene.hand.name)} on "
    title += escape(", ".join(result.scene.object_names))
    notes = "".join(f"<li>{escape(text)}</li>" for text in result.warnings)
    listed = f"<ul>{notes}</ul>" if notes else ""
    return f'<p>{title}</p><p>{escape(summary(result))}</p>{listed}<img src="{source}" width="800">'
