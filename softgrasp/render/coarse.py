"""From a coarse picture, which has every second pixel down and across, to the whole one."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Colors = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Kind = TypeVar("Kind", bound=np.generic)

STEP = 2


def corners(coarse: npt.NDArray[Kind], combine: np.ufunc) -> npt.NDArray[Kind]:
    """A ufunc over the four corners of every cell right of and below a coarse pixel."""
    rows, every = coarse.copy(), coarse.copy()
    combine(coarse[..., :-1, :], coarse[..., 1:, :], out=rows[..., :-1, :])
    every[...] = rows
    combine(rows[..., :-1], rows[..., 1:], out=every[..., :-1])
    return every


def between(coarse: Colors, shape: tuple[int, ...]) -> Colors:
    """Linear mixture of coarse pixels for all pixels; every STEP-th is the coarse one itself."""
    rows, columns = coarse.shape[-2:]
    every = np.empty((*coarse.shape[:-2], STEP * rows, STEP * columns), dtype=np.float32)
    across = every[..., ::STEP, :]
    across[..., ::STEP] = coarse
    across[..., 1:-1:STEP] = 0.5 * (coarse[..., :-1] + coarse[..., 1:])
    across[..., -1] = coarse[..., -1]
    upper, lower = every[..., :-STEP:STEP, :], every[..., STEP::STEP, :]
    np.multiply(upper + lower, 0.5, out=every[..., 1:-1:STEP, :])
    every[..., -1, :] = every[..., -STEP, :]
    return every[..., : shape[0], : shape[1]]


def repeated(cells: Bools, shape: tuple[int, ...]) -> Bools:
    """Every cell's answer for all of its pixels."""
    return cells.repeat(STEP, axis=0).repeat(STEP, axis=1)[: shape[0], : shape[1]]


def grown(mask: Bools) -> Bools:
    """The mask and the pixels beside it."""
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    return grown
