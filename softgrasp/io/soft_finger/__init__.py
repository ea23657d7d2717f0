"""Soft fingers, and hands of them, from CAD meshes: orientation, valleys, slices, material."""
