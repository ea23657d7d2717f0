"""Doctors: hands, objects and robots are measured, and what is odd about them is told as values."""
