"""The same scene in several engines: what they say, how far they differ, whether that matters."""
