"""Measurements in photographs and videos of a soft finger: joint angles and settling."""
