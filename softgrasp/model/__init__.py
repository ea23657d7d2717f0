"""Descriptions to MuJoCo models."""
