"""Friction that switches: the law, the map of mjData that compiled code needs, and both loops."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.model.scene import build
from softgrasp.sim.closure_law import update_slip
from softgrasp.sim.compiled import NativeStepper
from softgrasp.sim.compiled_loop import agrees, data_map
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.stepper import PlainStepper
from tests.support.scenes import pinch

BALLS = """
<mujoco><option cone="{cone}"/><worldbody><geom type="plane" size="3 3 1"/>
{balls}
</worldbody></mujoco>"""


def test_a_pair_slides_where_one_of_its_contacts_does() -> None:
    slipping, seen = [0, 1, 0, 1], [0, 0, 0, 0]
    velocities = [9.0, 0.3, 0.4, 9.0, 0.0, 0.1, 9.0, 0.0, 0.1]
    pairs, rows = [0, 0, 1, -1, 2], [3, 0, 6, 0, -1]
    assert update_slip(pairs, rows, velocities, [0.45] * 4, slipping, seen)
    assert slipping == [1, 0, 0, 1]  # the last one has no contact and stays
    assert seen == [0, 0, 0, 0]
    assert not update_slip(pairs, rows, velocities, [0.45] * 4, slipping, seen)


@given(st.integers(0, 2**32 - 1))
def test_the_law_is_that_of_any_contact_of_a_pair(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = random.integers(-1, 4, size=9).tolist()
    rows = np.where(random.random(9) < 0.2, -1, 3 * np.arange(9)).tolist()
    velocities = random.normal(size=27).tolist()
    before = random.integers(0, 2, size=4).tolist()
    slipping = before.copy()
    changed = update_slip(pairs, rows, velocities, [1.0] * 4, slipping, [0] * 4)
    for pair in range(4):
        own = [index for index, other in enumerate(pairs) if other == pair]
        fast = [
            rows[i] >= 0 and np.hypot(velocities[rows[i] + 1], velocities[rows[i] + 2]) > 1.0
            for i in own
        ]
        assert slipping[pair] == (int(any(fast)) if own else before[pair])
    assert changed == (slipping != before)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_the_map_agrees_with_other_models_in_motion(cone: str) -> None:
    result = data_map()
    assert result is not None
    balls = "".join(
        f'<body pos="{0.3 * index} 0 {0.1 + 0.05 * index}"><freejoint/><geom size="0.1"/></body>'
        for index in range(6)
    )
    model = mujoco.MjModel.from_xml_string(BALLS.format(cone=cone, balls=balls))
    data = mujoco.MjData(model)
    counts = set()
    for _ in range(400):
        mujoco.mj_step(model, data)
        assert agrees(result, data)
        counts.add(data.ncon)
    assert len(counts) > 3
    assert not agrees(result._replace(contact_count=result.contact_count + 4), data)


def test_both_loops_switch_alike_bit_for_bit() -> None:
    pytest.importorskip("numba", reason="the compiled loop needs numba")
    contact = pinch().requested_contact.replace(
        static_friction=0.5, dynamic_friction=0.2, critical_velocity=1e-3
    )
    heavy = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.03), density=2000)
    scene = pinch(object=heavy, contact=contact, object_position=(0.0, 0.004, -0.085))
    runs = []
    for stepper in (PlainStepper, NativeStepper):
        run = ClosureRun(build(scene), stepper=stepper)
        switched = set()
        run._progress = lambda _, run=run, seen=switched: seen.add(
            run.model.pair_friction[:, 0].tobytes()
        )
        run.run()
        runs.append(run)
        assert len(switched) > 1, "friction never switched"
    plain, native = (run.recording for run in runs)
    assert plain.rows == native.rows
    for name in ("qpos", "control", "force", "in_contact"):
        one, other = getattr(plain, name)[: plain.rows], getattr(native, name)[: plain.rows]
        np.testing.assert_array_equal(one, other, err_msg=name)
    assert runs[0].events == runs[1].events
