"""Ways in which a hand closes, as values that are told apart by their ``type``."""
