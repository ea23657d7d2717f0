"""What light and camera do to a picture: uneven and coloured light, another hue, blur, noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softgrasp.errors import DescriptionError
from softgrasp.vision.opencv import opencv
from softgrasp.vision.picture import Image

Floats = npt.NDArray[np.float32]


def with_faults(
    image: Image,
    *,
    light: float = 0.0,
    light_direction_deg: float = 0.0,
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0),
    hue_deg: float = 0.0,
    blur: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
) -> Image:
    """The same picture under other light and through a worse camera.

    Args:
        image: Shape (height, width, 3).
        light: Change of brightness from the middle to the border, such as 0.3 from 70 % at one
            border to 130 % at the other; exposed so that the bright border stays as it is.
        light_direction_deg: Towards the brighter side: 0 right, 90 up.
        tint: Colour of the light, red, green and blue up to 1.
        hue_deg: By how much every hue is turned on the colour circle.
        blur: Standard deviation [pixels].
        noise: Standard deviation in every channel of every pixel [parts of full scale].
        seed: Of the noise; one seed gives one picture.

    Raises:
        DescriptionError: A number is out of range.
    """
    _check(light=(light, 0.0, 0.95), blur=(blur, 0.0, 100.0), noise=(noise, 0.0, 1.0))
    seen: Floats = image.astype(np.float32) / 255.0
    if hue_deg:
        seen = _hue_rotated(seen, hue_deg)
    seen = seen * _brightness(image.shape[:2], light, light_direction_deg)[..., None]
    seen *= np.array(tint, dtype=np.float32)
    if blur:
        seen = opencv().GaussianBlur(seen, (0, 0), blur)
    if noise:
        grain = np.random.default_rng(seed).standard_normal(seen.shape, dtype=np.float32)
        seen = seen + np.float32(noise) * grain
    return np.asarray(np.rint(255.0 * seen.clip(0.0, 1.0)), dtype=np.uint8)


def _check(**numbers: tuple[float, float, float]) -> None:
    for field, (value, low, high) in numbers.items():
        if not low <= value <= high:
            raise DescriptionError(
                f"expected a number from {low:g} to {high:g}, found {value:g}", field=field
            )


def _hue_rotated(image: Floats, hue_deg: float) -> Floats:
    cv2 = opencv()
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0] + hue_deg) % 360.0
    return np.asarray(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


def _brightness(shape: tuple[int, ...], light: float, direction_deg: float) -> Floats:
    y, x = np.meshgrid(
        np.linspace(1.0, -1.0, shape[0]), np.linspace(-1.0, 1.0, shape[1]), indexing="ij"
    )
    angle = np.radians(direction_deg)
    along = np.cos(angle) * x + np.sin(angle) * y
    along /= max(float(np.abs(along).max()), 1e-12)
    return np.asarray((1.0 + light * along) / (1.0 + light), dtype=np.float32)
