"""Soft bodies as mathematics: constant curvature, rigid-link discretisation, statics, settling."""
