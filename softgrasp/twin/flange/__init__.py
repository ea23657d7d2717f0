"""Streams of flange poses: from HTTP, files, UDP and a simulated robot, and servers of them."""
