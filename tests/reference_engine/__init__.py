"""Reference engine: adaptive integration of rigid bodies with contact laws exactly as printed.

It is slow and independent of MuJoCo's contact solver: contact points (``collision``) and forces
(``contact_law``) are computed here, and scipy's integrators control the error (``dynamics``).
MuJoCo computes mass matrix, bias and actuator forces with contacts and constraints disabled.
Tests compare with it; it is no backend of the package.
"""
