"""Descriptions → MuJoCo models."""
