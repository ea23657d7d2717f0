"""Models in MJCF that others have made: read, judged, and attached to a scene as they are."""
