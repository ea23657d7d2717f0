"""RUN: scenes → results."""
