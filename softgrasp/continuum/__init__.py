"""Continuum mechanics: constant curvature, rigid-link discretisation, statics and settling."""
