"""Files and descriptions: YAML, URDF, U(C)RDF, MJCF, meshes, scenes and results."""
