"""Webots worlds in ODE (Open Dynamics Engine) with Webots' rules, and its ``controller`` on top.

Only the text of the world and of the controller comes from the caller. What is checked is the text
and a second, independent solver; nothing here is Webots, and results must not be called that.
ODE ends the process where it is asked for something impossible, so it runs in one of its own
(``launch.run_world``).
"""
