"""A result → what its grasp can do: matrices, stiffness, measures at an instant."""
