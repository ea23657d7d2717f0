"""URDF hands for tests: small ones written here, and those of the outside data."""

import re
from pathlib import Path

from tests.support.outside import outside_file

ABILITY = "ability_hand/ability_hand_right_large_no_fsr.urdf"
ROBOTIQ = "robotiq_arg85_description/robots/robotiq_arg85_description.URDF"
BARRETT = "bhand_model/robots/bhand_model.URDF"
REAL = (ABILITY, ROBOTIQ, BARRETT)

BODY = (
    '<inertial><origin xyz="0 0 0.03"/><mass value="0.05"/>'
    '<inertia ixx="2e-5" iyy="2e-5" izz="4e-6" ixy="0" ixz="0" iyz="0"/></inertial>'
)
BOX = (
    '<collision><origin xyz="0 0 0.03"/><geometry><box size="0.014 0.03 0.06"/></geometry>'
    "</collision>"
)
LIMIT = '<limit lower="-0.2" upper="1.2" effort="2" velocity="3"/>'


def link(name: str, inside: str = BODY + BOX) -> str:
    """A ``<link>``."""
    return f'<link name="{name}">{inside}</link>\n'


def joint(
    name: str,
    parent: str,
    child: str,
    xyz: str,
    axis: str = "0 1 0",
    inside: str = LIMIT,
    kind: str = "revolute",
    rpy: str = "0 0 0",
) -> str:
    """A ``<joint>``."""
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}" rpy="{rpy}"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>{inside}</joint>\n'
    )


PALM = link(
    "base",
    '<collision><origin xyz="0 0 -0.01"/><geometry><box size="0.12 0.04 0.02"/></geometry>'
    "</collision>",
)
LEFT = (
    link("left_near")
    + link("left_far")
    + joint("left_1", "base", "left_near", "-0.05 0 0")
    + joint("left_2", "left_near", "left_far", "0 0 0.065")
)
RIGHT = (
    link("right_near")
    + link("right_far")
    + joint("right_1", "base", "right_near", "0.05 0 0", "0 -1 0")
    + joint("right_2", "right_near", "right_far", "0 0 0.065", "0 -1 0")
)


def robot(*parts: str) -> str:
    """A ``<robot>``; parts stand on lines of their own from the second line on."""
    return f'<robot name="gripper">\n{"".join(parts)}</robot>\n'


GRIPPER = robot(PALM, LEFT, RIGHT)
"""Two fingers of two links at x = ±50 mm that stand up along z and close about ±y."""


def real_hand(name: str) -> Path:
    """A hand's file of the outside data."""
    return outside_file("urdf_hands") / name


def bare_text(path: Path) -> str:
    """A URDF without shapes and mimics, which MuJoCo imports as it stands, no bodies joined."""
    text = path.read_text(encoding="utf-8")
    for tag in ("visual", "collision"):
        text = re.sub(rf"<{tag}\b.*?</{tag}>", "", text, flags=re.DOTALL)
    text = re.sub(r"<mimic\b[^>]*/>", "", text)
    options = '<mujoco><compiler fusestatic="false" balanceinertia="true"/></mujoco>'
    return re.sub(r"(<robot\b[^>]*>)", rf"\1{options}", text, count=1)
