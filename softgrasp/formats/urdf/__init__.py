"""Plain URDF robots as hands and as arms: rigid fingers, servos, and grasps found from shapes."""
