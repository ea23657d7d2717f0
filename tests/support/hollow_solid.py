"""A deformable solid with chambers under pressure (MuJoCo flex), and its equilibrium.

The solid is a grid of quadratic cells of which some are empty: the stiffness matrices of those are
zero. The forces are those of MuJoCo's flex (``qfrc_passive``); Newton's method finds where they
balance the pressure, which acts on the deformed faces. Fibres that keep the walls from widening are
a stiffness across the finger, in matrices of our own, which for an isotropic material are equal to
MuJoCo's.
"""

from dataclasses import dataclass, field

import mujoco
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from softgrasp.mechanics.transforms import Array

GAUSS = np.sqrt(0.6) * np.array([-1.0, 0.0, 1.0])
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 9.0
SHAPES = np.array([GAUSS * (GAUSS - 1.0) / 2.0, 1.0 - GAUSS**2, GAUSS * (GAUSS + 1.0) / 2.0])
SLOPES = np.array([GAUSS - 0.5, -2.0 * GAUSS, GAUSS + 0.5])
"""Quadratic shape functions and their derivatives at the Gauss points, (node, point)."""
SHEARS = ((1, 2), (0, 2), (0, 1))
FIBRES = 50.0
"""Stiffness of the fibres across the finger over Young's modulus."""
NODES = 27
TOLERANCE, ITERATIONS = 1e-8, 60
"""Newton's method ends with steps below [m]."""


@dataclass
class HollowSolid:
    """A block along +x, clamped at x = 0, whose cells are solid, empty or chambers."""

    size: tuple[float, float, float]
    """Length, width and height [m]."""
    chambers: Array
    """Cells under pressure, boolean (nx, ny, nz)."""
    young: float
    poisson: float = 0.0
    fibres: bool = False
    """Whether fibres keep the walls from widening."""
    absent: Array | None = None
    """Cells outside the body, boolean (nx, ny, nz)."""
    model: mujoco.MjModel = field(init=False)
    data: mujoco.MjData = field(init=False)

    def __post_init__(self) -> None:
        self.cells = np.array(self.chambers.shape)
        self.solid = ~self.chambers
        if self.absent is not None:
            self.solid &= ~self.absent
        counts = 2 * self.cells + 1
        self.grid = np.arange(counts.prod()).reshape(counts)
        corners = np.argwhere(self.solid)
        self.elements = np.array([self._cell(cell).ravel() for cell in corners])
        self.model = self._compiled()
        self.data = mujoco.MjData(self.model)
        self.bodies = np.arange(2, self.model.nbody)
        self.rest = self.positions()
        self.faces = self._faces()
        free = np.flatnonzero(self.model.body_dofnum[self.bodies] == 3)
        self.dofs = np.full((len(self.bodies), 3), -1)
        self.dofs[free] = self.model.body_dofadr[self.bodies[free]][:, None] + np.arange(3)
        stiffness = self.model.flex_stiffness.reshape(-1, 3 * NODES, 3 * NODES)
        if self.fibres:
            stiffness[:] = -cell_stiffness(
                np.array(self.size) / self.cells, reinforced(self.young, self.poisson)
            )
        self.stiffness = stiffness[self.solid.ravel()].copy()
        stiffness[~self.solid.ravel()] = 0.0

    def positions(self) -> Array:
        """Return the nodes at the state of ``data``, (n, 3) [m]."""
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_flex(self.model, self.data)
        return np.array(self.data.xpos[self.bodies])

    def equilibrium(self, pressure: float, *, blocked: bool = False, steps: int = 4) -> float:
        """Bring the solid to rest; with ``blocked`` a plate keeps the height of the tip.

        Returns:
            Force of the plate [N]; 0 without.

        Raises:
            RuntimeError: Newton's method did not converge.
        """
        tip = self.dofs[self.grid[-1].ravel(), 2]
        share = np.zeros(self.model.nv)
        share[tip] = 1.0 / len(tip)
        force = 0.0
        for step in range(1, steps + 1):
            for _ in range(ITERATIONS):
                residual = self._residual(pressure * step / steps) + force * share
                factors = scipy.sparse.linalg.splu(self._tangent(self.positions()))
                change = factors.solve(residual)
                if blocked:
                    lifted = factors.solve(share)
                    more = -float(share @ (self.data.qpos + change)) / float(share @ lifted)
                    force += more
                    change += more * lifted
                self.data.qpos[:] += change
                if np.abs(change).max() < TOLERANCE:
                    break
            else:
                raise RuntimeError(f"steps of {np.abs(change).max():g} m at {ITERATIONS}")
        return force

    def line(self) -> Array:
        """Return the middles of the cross-sections, (2 nx + 1, 3) [m]."""
        nodes = self.positions()
        return np.array([nodes[section.ravel()].mean(axis=0) for section in self.grid])

    def rotations(self) -> Array:
        """Return how far the cross-sections bend downwards, (2 nx + 1,) [rad]."""
        middle = self.grid.shape[1] // 2
        nodes = self.positions()
        upwards = nodes[self.grid[:, middle, -1]] - nodes[self.grid[:, middle, 0]]
        return np.arctan2(upwards[:, 0], upwards[:, 2])

    def _cell(self, cell: Array) -> Array:
        """Nodes of a cell, (3, 3, 3)."""
        i, j, k = 2 * cell
        return np.asarray(self.grid[i : i + 3, j : j + 3, k : k + 3])

    def _compiled(self) -> mujoco.MjModel:
        """Grid of nodes that slide in three directions; those of no solid cell are fixed."""
        spec = mujoco.MjSpec()
        spec.option.gravity = [0.0, 0.0, 0.0]
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
        base = spec.worldbody.add_body(name="base")
        counts = 2 * self.cells + 1
        flex = base.make_flex(
            name="solid", type="grid", dim=3, dof="quadratic", count=counts.tolist(),
            spacing=(np.array(self.size) / (counts - 1)).tolist(),
            cellcount=self.cells.tolist(), radius=1e-4, mass=1.0,
        )  # fmt: skip
        flex.young, flex.poisson, flex.damping = self.young, self.poisson, 0.01
        flex.contype = flex.conaffinity = 0
        flex.selfcollide = mujoco.mjtFlexSelf.mjFLEXSELF_NONE
        clamped = np.setdiff1d(self.grid, self.elements)
        for index in np.union1d(clamped, self.grid[0]):
            for joint in list(spec.bodies[2 + int(index)].joints):
                spec.delete(joint)
        return spec.compile()

    def _faces(self) -> Array:
        """Nodes of the faces between chambers and solid, normals out of the chamber, (f, 3, 3)."""
        faces = []
        for cell in np.argwhere(self.chambers):
            for axis in range(3):
                for side in (-1, 1):
                    other = cell.copy()
                    other[axis] += side
                    if not self.solid[tuple(other)]:
                        continue
                    nodes = self._cell(cell).take(1 + side, axis=axis)
                    faces.append(nodes if side * (1, -1, 1)[axis] > 0 else nodes.T)
        return np.array(faces)

    def _pressure_loads(self, nodes: Array, pressure: float) -> Array:
        """Forces of the pressure on the nodes, from the deformed faces, (n, 3) [N]."""
        on = nodes[self.faces]
        first = np.einsum("ip,jq,fijk->fpqk", SLOPES, SHAPES, on)
        second = np.einsum("ip,jq,fijk->fpqk", SHAPES, SLOPES, on)
        normals = np.cross(first, second) * (WEIGHTS[:, None] * WEIGHTS)[..., None]
        forces = pressure * np.einsum("ip,jq,fpqk->fijk", SHAPES, SHAPES, normals)
        loads = np.zeros_like(nodes)
        np.add.at(loads, self.faces.ravel(), forces.reshape(-1, 3))
        return loads

    def _residual(self, pressure: float) -> Array:
        """Forces of the flex and of the pressure, (nv,) [N]."""
        nodes = self.positions()
        mujoco.mj_passive(self.model, self.data)
        forces = np.array(self.data.qfrc_passive)
        held = self.dofs >= 0
        forces[self.dofs[held]] += self._pressure_loads(nodes, pressure)[held]
        return forces

    def _tangent(self, nodes: Array) -> scipy.sparse.csc_matrix:
        """Stiffness of the cells, rotated with them, (nv, nv) [N/m]."""
        now, start = nodes[self.elements], self.rest[self.elements]
        now, start = (x - x.mean(axis=1, keepdims=True) for x in (now, start))
        left, _, right = np.linalg.svd(np.einsum("cni,cnj->cij", now, start))
        turns = left @ right
        blocks = self.stiffness.reshape(-1, NODES, 3, NODES, 3)
        turned = -np.einsum("cab,cmbnd,ced->cmane", turns, blocks, turns, optimize=True)
        places = self.dofs[self.elements].reshape(len(self.elements), -1)
        rows = np.repeat(places, 3 * NODES, axis=1).ravel()
        columns = np.tile(places, (1, 3 * NODES)).ravel()
        held = (rows >= 0) & (columns >= 0)
        entries = (turned.ravel()[held], (rows[held], columns[held]))
        return scipy.sparse.csc_matrix(entries, shape=(self.model.nv, self.model.nv))


def isotropic(young: float, poisson: float) -> Array:
    """Elasticity matrix of Hooke's law, strains xx, yy, zz, yz, xz, xy, (6, 6) [Pa]."""
    lame = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    shear = young / (2.0 * (1.0 + poisson))
    matrix = np.diag([2.0 * shear] * 3 + [shear] * 3)
    matrix[:3, :3] += lame
    return matrix


def reinforced(young: float, poisson: float) -> Array:
    """Elasticity matrix with stiff fibres across x, (6, 6) [Pa]."""
    matrix = isotropic(young, poisson)
    matrix[[1, 2, 3], [1, 2, 3]] += FIBRES * young
    return matrix


def cell_stiffness(size: Array, elasticity: Array) -> Array:
    """Stiffness matrix of a quadratic cell, nodes along z first, (81, 81) [N/m]."""
    total = np.zeros((3 * NODES, 3 * NODES))
    for a, b, c in np.ndindex(3, 3, 3):
        gradients = np.stack(
            [
                np.einsum("i,j,k->ijk", SLOPES[:, a], SHAPES[:, b], SHAPES[:, c]),
                np.einsum("i,j,k->ijk", SHAPES[:, a], SLOPES[:, b], SHAPES[:, c]),
                np.einsum("i,j,k->ijk", SHAPES[:, a], SHAPES[:, b], SLOPES[:, c]),
            ],
            axis=-1,
        ).reshape(NODES, 3) * (2.0 / size)
        strains = np.zeros((6, NODES, 3))
        for axis in range(3):
            strains[axis, :, axis] = gradients[:, axis]
        for row, (p, q) in enumerate(SHEARS, start=3):
            strains[row, :, p], strains[row, :, q] = gradients[:, q], gradients[:, p]
        flat = strains.reshape(6, -1)
        volume = WEIGHTS[a] * WEIGHTS[b] * WEIGHTS[c] * size.prod() / 8.0
        total += volume * flat.T @ elasticity @ flat
    return total
