"""Continuum controllers after ros2_control, set up by a U(C)RDF file alone."""
