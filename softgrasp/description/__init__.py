"""WHAT is simulated: frozen, validated values without arrays and without an engine."""
