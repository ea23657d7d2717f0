"""Run scenes: motion, contact detection, recording and results."""
