"""Random hydraulic arms."""

from __future__ import annotations

from hypothesis import strategies as st

from softgrasp.description.bendable import (
    Chamber,
    Fluid,
    HydraulicDrive,
    Piston,
    Screw,
    TipLoad,
    Tube,
)
from softgrasp.hydraulics.description import ArmSection, HydraulicArm, SectionDamping
from tests.support.robots import NOT_NEGATIVE, NUMBERS, POSITIVE, VECTORS, WORDS, maybe


@st.composite
def sections(draw: st.DrawFn, name: str) -> ArmSection:
    """A section with one to four chambers."""
    length = draw(POSITIVE)
    radius = length * draw(st.floats(1e-3, 1.0))
    angles = draw(st.lists(st.integers(-30, 30), unique=True, min_size=1, max_size=4))
    strains = ("bending_stiffness", "axial_stiffness", "torsion_stiffness")
    chambers = tuple(
        Chamber(
            angle=angle / 10,
            radius=radius * draw(st.floats(1e-3, 1.0)),
            area=draw(POSITIVE),
            pressure_min=draw(st.floats(-1e5, 0)),
            pressure_max=draw(maybe(st.floats(0, 1e6))),
        )
        for angle in angles
    )
    return ArmSection(
        name=name,
        length=length,
        radius=radius,
        mass=draw(POSITIVE),
        **{key: draw(POSITIVE) for key in strains},
        damping=SectionDamping(**{key: draw(NOT_NEGATIVE) for key in SectionDamping.model_fields}),
        chambers=chambers,
    )


@st.composite
def drives(draw: st.DrawFn) -> HydraulicDrive:
    """Screw, piston, tube and fluid."""
    length = draw(POSITIVE)
    return HydraulicDrive(
        screw=Screw(
            lead=draw(POSITIVE),
            efficiency=draw(st.floats(1e-6, 1.0)),
            torque_max=draw(maybe(POSITIVE)),
        ),
        piston=Piston(
            diameter=draw(POSITIVE),
            mass=draw(POSITIVE),
            damping=draw(NOT_NEGATIVE),
            friction=draw(NOT_NEGATIVE),
            length=draw(POSITIVE),
        ),
        tube=Tube(
            diameter=length * draw(st.floats(1e-6, 1.0)),
            length=length,
            flow=draw(st.sampled_from(["blasius", "laminar"])),
        ),
        fluid=draw(st.builds(Fluid, density=POSITIVE, viscosity=POSITIVE, bulk_modulus=POSITIVE)),
    )


@st.composite
def hydraulic_arms(draw: st.DrawFn) -> HydraulicArm:
    """One to three sections with everything that an arm can have."""
    names = draw(st.lists(WORDS.map(str.strip), min_size=1, max_size=3, unique=True))
    load = st.builds(TipLoad, force=VECTORS, moment=VECTORS, frame=st.sampled_from(["tip", "base"]))
    return HydraulicArm(
        name=draw(WORDS),
        source=draw(st.just("") | WORDS),
        sections=tuple(draw(sections(name)) for name in names),
        segments=draw(st.integers(1, 9)),
        drive=draw(drives()),
        tip_load=draw(st.just(TipLoad()) | load),
        gravity=draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)),
    )
