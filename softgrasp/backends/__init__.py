"""Other physics engines that run the same scene: Webots and ODE."""
