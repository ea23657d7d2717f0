"""Many grasps at once on a GPU, or on Warp's CPU device, with MuJoCo Warp.

``scenes`` refuses what is not supported and groups scenes of one structure, ``worlds`` puts them
on a device, ``kernels`` hold the closed loop, the hold test, stiffness feedback and switching
friction, and ``backend`` makes the result of one grasp. The extra ``gpu`` installs it; nothing
else in softgrasp imports Warp.
"""
