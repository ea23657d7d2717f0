"""A pinhole camera with the lens distortion of Brown: what a calibration of it finds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from softgrasp.description.base import Description, Number, Positive

Pixels = Annotated[int, Field(strict=True, ge=1, le=100_000)]


class PinholeCamera(Description):
    """Focal lengths, principal point and distortion of a camera, and how large its pictures are.

    The camera's frame has z forward, x to the right and y down in the picture. Pixels are (column,
    row), (0, 0) being the outer corner of the upper left pixel, whose middle is at (0.5, 0.5);
    OpenCV and most makers count from that middle: add 0.5 to their cx and cy.
    """

    name: str = ""
    fx: Positive
    """Focal length over the width of a pixel [pixels]."""
    fy: Positive
    """Focal length over the height of a pixel [pixels]."""
    cx: Number
    """Column of the principal point [pixels]."""
    cy: Number
    """Row of the principal point [pixels]."""
    k1: Number = 0.0
    """Radial distortion, of r² [–]."""
    k2: Number = 0.0
    """Radial distortion, of r⁴ [–]."""
    p1: Number = 0.0
    """Tangential distortion [–]."""
    p2: Number = 0.0
    """Tangential distortion [–]."""
    k3: Number = 0.0
    """Radial distortion, of r⁶ [–]; the fifth number of OpenCV's order k1, k2, p1, p2, k3."""
    width: Pixels
    height: Pixels
    source: str = ""
    """Where the numbers come from."""
