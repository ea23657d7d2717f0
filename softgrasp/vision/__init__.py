"""What photographs and videos show of a soft finger: its joint angles and how it settles."""
