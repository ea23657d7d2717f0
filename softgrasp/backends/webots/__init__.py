"""Webots projects: worlds, drives, launcher and backend."""
