"""Files ⇄ descriptions: YAML, meshes and results."""
