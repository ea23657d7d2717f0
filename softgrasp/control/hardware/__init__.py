"""What turns commanded curvatures into tensions, pressures or moments of a model.

``plugins`` chooses the class that a U(C)RDF names; ``segments`` drives the MuJoCo model of the same
file.
"""
