"""Checks of hands, objects, meshes and robots, and repairs."""
