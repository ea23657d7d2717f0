"""Interactive views in the browser."""
