"""MuJoCo models made elsewhere, read as hands and arms."""
