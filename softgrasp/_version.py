"""The version of softgrasp, in one place."""

__version__ = "0.1.0"
