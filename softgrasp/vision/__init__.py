"""What photographs and films show of a soft finger: its joint angles and how it settles."""
