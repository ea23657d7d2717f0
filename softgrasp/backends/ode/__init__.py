"""Simulate Webots worlds in ODE (Open Dynamics Engine) with the rules of Webots.

The same world and controller files run as in Webots. This checks those files with a second,
independent solver; results are those of ODE and must not be called results of Webots. ODE aborts
the process on invalid requests, so that it runs in a separate one (``player.run_world``).
"""
