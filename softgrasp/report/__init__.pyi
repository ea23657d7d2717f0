from softgrasp.report import style as style
from softgrasp.report.contact_figures import final_poses as final_poses
from softgrasp.report.grasp_report import write_report as write_report
from softgrasp.report.notebook import progress_bar as progress_bar
from softgrasp.report.notebook import video_html as video_html
from softgrasp.report.saved import write_report_from as write_report_from
from softgrasp.report.style import signed as signed
from softgrasp.report.sweep import write_sweep_report as write_sweep_report
from softgrasp.report.time_series import overlay_objects as overlay_objects

NAMES: dict[str, tuple[str, ...]]
