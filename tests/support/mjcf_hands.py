"""Small hands in MJCF for tests, each with something that real ones have."""

from pathlib import Path

from tests.support import robots

ALLEGRO = "mjcf_hands/allegro_primitives/allegro_right_primitives.xml"
"""A hand of the outside data."""

TENDON = """<mujoco model="two">
  <compiler angle="degree" autolimits="true"/>
  <option timestep="0.004" cone="pyramidal"/>
  <default>
    <default class="finger">
      <geom type="box" size=".005 .01 .035" pos="0 0 .035" friction=".7"/>
      <joint axis="0 -1 0" range="0 60" damping=".02" armature="1e-4"/>
    </default>
  </default>
  <worldbody>
    <light pos="0 0 1"/>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="mount" euler="0 0 30">
      <freejoint/>
      <geom name="mount" type="box" size=".05 .02 .01" friction="1"/>
      <body name="l" pos=".045 0 .02" childclass="finger"><joint name="lj"/><geom/></body>
      <body name="r" pos="-.045 0 .02" euler="0 0 180" childclass="finger">
        <joint name="rj"/><geom/>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="split"><joint joint="lj" coef=".5"/><joint joint="rj" coef=".5"/></fixed>
  </tendon>
  <equality><joint joint1="lj" joint2="rj" polycoef="0 1 0 0 0"/></equality>
  <actuator>
    <general name="drive" tendon="split" forcerange="-5 5" ctrlrange="0 255"
      gainprm=".3137255 0 0" biasprm="0 -100 -10" biastype="affine"/>
  </actuator>
  <contact><exclude body1="l" body2="r"/></contact>
  <keyframe><key name="home" qpos="0 0 .2 1 0 0 0 .1 .1" ctrl="31.9"/></keyframe>
</mujoco>
"""
"""One actuator on a tendon of two fingers, an equality, defaults, a free root, floor, keyframe."""

MOTORS = """<mujoco model="motors">
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="base">
      <geom type="box" size=".05 .02 .01"/>
      <body name="a" pos=".045 0 .02">
        <joint name="aj" axis="0 -1 0" range="0 1" armature=".001" damping=".01"/>
        <geom type="box" size=".005 .01 .035" pos="0 0 .035"/>
      </body>
      <body name="b" pos="-.045 0 .02">
        <joint name="bj" axis="0 1 0" range="0 1" armature=".001" damping=".01"/>
        <geom type="box" size=".005 .01 .035" pos="0 0 .035"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="am" joint="aj" gear="2" ctrlrange="-.6 .6"/>
    <motor name="bm" joint="bj" gear="2" ctrlrange="-.6 .6"/>
  </actuator>
</mujoco>
"""
"""Two fingers with motors."""

WRIST = """<mujoco model="wristed">
  <compiler angle="radian" autolimits="true"/>
  <default><position kp="4" dampratio="1"/><joint damping=".02" armature=".001"/></default>
  <worldbody>
    <body name="forearm" pos="0 0 .1" quat="0 1 0 0">
      <geom type="cylinder" size=".02 .05" pos="0 0 -.05"/>
      <body name="wrist" pos="0 0 .01">
        <joint name="wrist" axis="0 1 0" range="-.5 .5"/>
        <geom type="sphere" size=".015"/>
        <body name="palm" pos="0 0 .04">
          <joint name="bend" axis="1 0 0" range="-.5 .3" pos="0 0 -.02"/>
          <geom type="box" size=".045 .02 .01"/>
          <body name="ff_one" pos=".045 0 .01">
            <joint name="ffj1" axis="0 -1 0" range="-.1 1.5"/>
            <geom type="capsule" size=".007" fromto="0 0 .01 0 0 .04"/>
            <body name="ff_two" pos="0 0 .045" quat=".98 0 .2 0">
              <joint name="ffj2" axis="0 -1 0" range="0 1.5" ref=".2"/>
              <geom type="capsule" size=".007" fromto="0 0 .01 0 0 .03"/>
              <body name="ff_tip" pos="0 0 .035"><geom type="sphere" size=".008"/></body>
            </body>
          </body>
          <body name="th_one" pos="-.045 0 .01">
            <joint name="thj0" axis="1 0 0" range="-.3 .3"/>
            <joint name="thj1" axis="0 1 0" range="-.1 1.5"/>
            <geom type="capsule" size=".007" fromto="0 0 .01 0 0 .04"/>
            <body name="th_two" pos="0 0 .045">
              <joint name="thj2" axis="0 1 0" range="0 1.5"/>
              <geom type="capsule" size=".007" fromto="0 0 .01 0 0 .04"/>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="w" joint="wrist" ctrlrange="-.5 .5"/>
    <position name="p" joint="bend" ctrlrange="-.5 .3"/>
    <position name="f1" joint="ffj1" ctrlrange="-.1 1.5"/>
    <position name="f2" joint="ffj2" ctrlrange="0 1.5"/>
    <position name="t0" joint="thj0" ctrlrange="-.3 .3"/>
    <position name="t1" joint="thj1" ctrlrange="-.1 1.5"/>
    <position name="t2" joint="thj2" ctrlrange="0 1.5"/>
  </actuator>
</mujoco>
"""
"""A forearm and two joints before the palm, two joints on one body, a joint off its body's origin,
one with a reference, names that a scene uses itself."""

LOOP = """<mujoco model="loop">
  <compiler angle="radian" autolimits="true"/>
  <default>
    <joint axis="0 1 0" damping=".01" armature=".0005"/>
    <geom type="box" size=".004 .008 .02" pos="0 0 .02" mass=".02"/>
  </default>
  <worldbody>
    <body name="base">
      <geom type="box" size=".06 .02 .01" pos="0 0 -.01"/>
      <body name="crank" pos="-.05 0 0">
        <joint name="crank" range="0 .9"/><geom/>
        <body name="pad" pos="0 0 .04"><joint name="pad" range="-1 1"/>
          <geom size=".004 .01 .025" pos="0 0 .025"/></body>
      </body>
      <body name="rod" pos="-.07 0 0"><joint name="rod" range="-1 1"/>
        <geom contype="0" conaffinity="0"/></body>
      <body name="thumb" pos=".05 0 0">
        <joint name="thumb" axis="0 -1 0" range="0 .9"/>
        <geom size=".004 .01 .035" pos="0 0 .035"/></body>
    </body>
  </worldbody>
  <equality><connect body1="rod" body2="pad" anchor="0 0 .04"/></equality>
  <actuator>
    <position name="close" joint="crank" kp="5" dampratio="1" ctrlrange="0 .9"/>
    <position name="oppose" joint="thumb" kp="5" dampratio="1" ctrlrange="0 .9"/>
  </actuator>
</mujoco>
"""
"""A parallelogram closed by a connect equality, against a thumb."""


def written(directory: Path, text: str, name: str = "hand.xml") -> Path:
    """A model in a file."""
    return robots.written(directory, text, name)
