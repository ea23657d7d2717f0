"""Many grasps from one plan: what varies, who computes it, and the table that comes out."""
