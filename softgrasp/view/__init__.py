"""What is looked at in a browser while it moves."""
