"""Photographs of a finger under weights, here drawn by softgrasp, become its springs."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import softgrasp as sg

try:
    from softgrasp.vision.image import opencv
    from softgrasp.vision.joint_angles import measure_photo
    from softgrasp.vision.synthetic_photos import synthetic_photo

    opencv()
except sg.BackendUnavailable as missing:
    sys.exit(print(missing))

truth = sg.io.load_finger("paper000")
directory = Path("photos")
directory.mkdir(exist_ok=True)
hung = []
for grams in (0, 20, 40):
    angles = sg.equilibrium(truth, tip_mass=1e-3 * grams).joint_angles
    image = synthetic_photo(truth, angles, width=640, light=0.2, noise=0.01, seed=grams).image
    Image.fromarray(image).save(directory / f"{grams}g.png")
    photo = measure_photo(directory / f"{grams}g.png", truth)
    left = np.degrees(np.sqrt(np.mean(np.square(photo.angles - angles))))
    print(f"{grams:3d} g: angles read to {left:.2f}° rms")
    hung.append(sg.description.HungAngles(mass=1e-3 * grams, angles=tuple(photo.angles.tolist())))

result = sg.calibrate(sg.description.CalibrationProblem(finger=truth, hung=tuple(hung)))
for joint, (name, calibrated) in zip(truth.joints, result.parameters.items(), strict=True):
    error = result.standard_errors[name]
    remark = "  not determined" if name in result.undetermined else ""
    print(f"{name}: {calibrated:.3f} ± {error:.3f}, truth {joint.stiffness:.3f} N·m/rad{remark}")
sg.calibration.save_calibration(result, "calibrated")
