"""Scenes as environments of reinforcement learning: Gymnasium and dm_env."""
