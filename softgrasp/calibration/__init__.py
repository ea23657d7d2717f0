"""From measurements on a finger to its springs, dampers and torques, and how sure they are."""
