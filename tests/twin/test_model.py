"""Bodies of a twin are at the positions of its shape."""

import numpy as np
import pytest

from softgrasp.twin.files import load_twin
from softgrasp.twin.flange_streams import SimulatedRobot
from softgrasp.twin.model import CELLS, TwinModel
from softgrasp.twin.piecewise_bending import arm_joints, flange_transform, twin_shape

TWIN = load_twin()


@pytest.mark.parametrize("phis", [(), (0.3, -0.2, 0.1, 0.4)])
def test_cells_lie_on_the_arcs(phis):
    """The middle of the last cell is half a cell before the tip, along the tip's own axis."""
    twin = TWIN.replace(phis=phis)
    flange = SimulatedRobot(TWIN.flange.program).sample_at(2.2)
    shape, bodies = twin_shape(twin, 100e3, flange), TwinModel(twin)
    data = bodies.pose(shape, arm_joints(twin, flange, None))
    half = 0.5 * twin.finger.lengths[-1] / CELLS
    for finger, root in enumerate(shape.roots):
        last = data.body(f"finger{finger + 1}_cell{4 * CELLS}")
        tip = root @ shape.frames[-1]
        np.testing.assert_allclose(last.xpos, tip[:3, 3] - half * tip[:3, 2], atol=2e-4)
        first = data.body(f"finger{finger + 1}_cell1")
        reach = 0.5 * twin.finger.lengths[0] / CELLS
        np.testing.assert_allclose(first.xpos, root[:3, 3] + reach * root[:3, 2], atol=1e-4)
    np.testing.assert_allclose(data.body("flange").xpos, flange.position, atol=1e-12)
    target = flange_transform(flange.position, flange.quaternion)
    np.testing.assert_allclose(data.body("flange").xmat.reshape(3, 3), target[:3, :3], atol=1e-9)


def test_bodies_have_no_contacts_and_no_mass():
    model = TwinModel(TWIN).model
    seen = model.geom_group < 3
    bodies = model.geom_bodyid[seen]
    assert not (model.geom_contype[seen] & (bodies > 0)).any()
