"""Webots backend: scenes as worlds, joint actuators, controller jobs, and the launcher."""
