"""Hydraulic arms as models: names, tendons of chambers, damping, gravity."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.errors import DescriptionError
from softgrasp.hydraulics.arm import arm_model
from softgrasp.hydraulics.description import arm_robot
from tests.hydraulics.arms import one_section, two_sections


def test_a_chamber_is_one_tendon_of_its_length_and_one_actuator_of_its_area() -> None:
    arm, links = two_sections(), 3
    model = arm_model(arm, links)
    assert model.ntendon == model.nu == 6
    assert model.nv == 2 * links * 4
    for index, section in enumerate(arm.sections):
        for number, chamber in enumerate(section.chambers):
            tendon = 3 * index + number
            adr, count = model.tendon_adr[tendon], model.tendon_num[tendon]
            names = [model.joint(k).name for k in model.wrap_objid[adr : adr + count]]
            result = dict(zip(names, model.wrap_prm[adr : adr + count], strict=True))
            across = -chamber.radius * np.array([np.cos(chamber.angle), np.sin(chamber.angle)])
            target = {}
            for k in range(1, links + 1):
                target |= {f"{section.name}_S{k}": 1.0}
                target |= {f"{section.name}_J{k}u": across[0], f"{section.name}_J{k}v": across[1]}
            assert result == pytest.approx(target, abs=1e-15)
            assert model.actuator_gainprm[tendon, 0] == chamber.area
            assert model.actuator_ctrlrange[tendon] == pytest.approx([0.0, 1e6])


def test_every_strain_has_a_damping() -> None:
    arm, links = one_section(), 4
    section, model = arm.sections[0], arm_model(arm, links)
    per_cell = links / section.length
    for name, damping in (("J2u", "bending"), ("S2", "axial"), ("T2", "torsion")):
        result = model.dof_damping[model.joint(f"base_{name}").dofadr[0]]
        assert result == pytest.approx(getattr(section.damping, damping) * per_cell)


def test_mass_and_gravity_are_those_of_the_arm() -> None:
    model = arm_model(two_sections())
    assert model.body_mass.sum() == pytest.approx(0.2, abs=1e-5)
    assert model.opt.gravity == pytest.approx([0.0, 0.0, 9.81])


def test_no_links_are_refused() -> None:
    with pytest.raises(DescriptionError, match="links: expected a number at least 1, found 0"):
        arm_robot(two_sections(), links=0)
