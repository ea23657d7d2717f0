"""Picks and angles drawn over the picture: reference line blue, chords green (paper 001, Fig 3)."""

from __future__ import annotations

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw

from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import SHEET, Color, Image, degrees, draw_dot, draw_line, write
from softgrasp.vision.pick_measurement import PickMeasurement

LINE: Color = (30, 80, 230)
CHORD: Color = (20, 150, 60)
EDGE: Color = (120, 200, 140)
REACH = 1.6
"""The reference line is drawn on beyond the base by so many of its own lengths [–]."""
LETTERS = 0.021
"""Height of letters over the width of the picture."""


def pick_overlay(
    image: Image, measured: PickMeasurement, *, letters: float = LETTERS, sigmas: bool = True
) -> Image:
    """The picture with picks, chords, reference line and the angle of each piece, (h, w, 3).

    Args:
        image: Shape (h, w, 3); it is not changed.
        measured: What was picked in it.
        letters: Height of the letters over the width of the picture.
        sigmas: Whether standard deviations stand beside the angles.
    """
    drawn = np.ascontiguousarray(image.copy())
    width = image.shape[1]
    thick = max(round(width / 420), 2)
    cuts = np.asarray(measured.picks.cuts, dtype=float)
    cuts = cuts.reshape(len(cuts), -1, 2)
    middles = cuts.mean(axis=1)
    if measured.picks.line is not None:
        start, end = np.asarray(measured.picks.line, dtype=float)
        beyond = np.array([start, end + REACH * (end - start)])
        draw_line(drawn, beyond, SHEET, thick + 2)
        draw_line(drawn, beyond, LINE, thick)
        for point in (start, end):
            _draw_pick(drawn, point, thick, LINE)
    if cuts.shape[1] == 2:
        for pair in cuts:
            draw_line(drawn, pair, EDGE, thick)
            for point in pair:
                _draw_pick(drawn, point, thick, EDGE)
    draw_line(drawn, middles, SHEET, thick + 2)
    draw_line(drawn, middles, CHORD, thick)
    for point in middles:
        _draw_pick(drawn, point, thick, CHORD)
    height = max(letters * width, 11.0)
    return _lettered(drawn, measured, middles, height, sigmas)


def _lettered(
    drawn: Image, measured: PickMeasurement, middles: Array, letters: float, sigmas: bool
) -> Image:
    sheet = Pillow.fromarray(drawn)
    writing = ImageDraw.Draw(sheet)
    chords = np.diff(middles, axis=0)
    # on the outer side of the bend, where there is room
    cross = chords[0, 0] * chords[-1, 1] - chords[0, 1] * chords[-1, 0]
    side = -1.0 if cross >= 0.0 else 1.0
    for index, (chord, angle, sigma) in enumerate(
        zip(chords, np.degrees(measured.angles), np.degrees(measured.sigmas), strict=True)
    ):
        out = side * np.array([-chord[1], chord[0]]) / np.hypot(*chord)
        position = 0.5 * (middles[index] + middles[index + 1]) + _margin(measured, letters) * out
        half = np.array([3.6 if sigmas else 1.8, 1.0]) * letters
        x, y = position.clip(half, np.array(drawn.shape[1::-1]) - half).tolist()
        text = degrees(float(angle)) + (f" ± {sigma:.1f}°" if sigmas else "")
        write(writing, (x, y), text, letters, middle=True)
    return np.array(sheet)


def _margin(measured: PickMeasurement, letters: float) -> float:
    """From a chord to the middle of its letters [pixels]."""
    cuts = np.asarray(measured.picks.cuts, dtype=float)
    if cuts.ndim == 2:
        return 3.0 * letters
    half = 0.5 * np.linalg.norm(cuts[:, 1] - cuts[:, 0], axis=1).max()
    return float(half) + 1.6 * letters


def _draw_pick(drawn: Image, point: Array, thick: int, color: Color) -> None:
    draw_dot(drawn, point, 2.4 * thick, SHEET)
    draw_dot(drawn, point, 1.6 * thick, color)
