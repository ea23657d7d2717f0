"""The digital twin of a pneumatic soft gripper: controller, robot, camera and model (paper 001)."""
