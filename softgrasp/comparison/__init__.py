"""The same scene in several engines: runs, differences, tolerances and verdicts."""
