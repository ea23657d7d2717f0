"""MATHS on arrays, blind to files and engines."""
