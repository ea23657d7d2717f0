"""MuJoCo models (MJCF) read as hands and arms."""
