"""Which phalanx touched when, where and how hard: paper 004's power grasp of a pear."""

import softgrasp as sg

result = sg.simulate(sg.load_scene("paper004_power_pear"))
print("time s   body    what         normal N  slip mm/s  point mm")
for event in result.events:
    point = tuple(round(1e3 * part, 1) for part in event.point_m or ())
    print(
        f"{event.time_s:.4f}  {event.body:6}  {event.kind:11}  {event.normal_force_N:8.1f}  "
        f"{1e3 * event.slip_speed_m_s:9.1f}  {point}"
    )
