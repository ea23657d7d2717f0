"""Other physics engines that run the same scene: Webots, ODE and MuJoCo Warp."""
