"""From measurements on a finger to its spring, damping and torque constants, and how sure they are."""
