"""References to the parts of this satellite that the core imports on use."""

from softgrasp.plugin_api import CalibrationExtension, CarrierExtension

CARRIER = CarrierExtension(
    description="softgrasp.hydraulics.description:HydraulicCarrier",
    model="softgrasp.hydraulics.hand_carrier:HydraulicCarrierModel",
    reader="softgrasp.hydraulics.files:carrier_from",
    writer="softgrasp.hydraulics.files:carrier_tree",
    path="softgrasp.hydraulics.hand_carrier:chamber_path",
)
CALIBRATION = CalibrationExtension(
    problem="softgrasp.hydraulics.calibration:ArmCalibrationProblem",
    reader="softgrasp.hydraulics.calibration:arm_problem_from",
    run="softgrasp.hydraulics.calibration:calibrate_arm",
    result="softgrasp.hydraulics.calibration:arm_result_from",
    images="softgrasp.hydraulics.report:arm_images",
    written=("arm.yaml", "motions.png", "motions.csv"),
)
