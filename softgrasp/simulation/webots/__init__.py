"""Webots: projects with a world and a controller, and a real Webots where there is one."""
