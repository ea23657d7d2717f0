"""Continuum controllers after ros2_control (paper 002, Fig 4), set up by a U(C)RDF alone.

Hardware offers command and state interfaces (``resources``), controllers claim them and are
switched at run time (``manager``), and a robot with its model is driven by both (``run``).
"""
