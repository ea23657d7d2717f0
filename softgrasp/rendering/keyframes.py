"""Playback of a finished run, and its key frames.

``Playback`` restores the state of the model at any time of a result, with contact marks and
colours. ``key_frames`` selects five instants for the image strip, ``video_parts`` the phases of a
video.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.evaluation.outcome import Outcome
from softgrasp.evaluation.result import BodyContact, GraspResult, PhaseSpan
from softgrasp.mechanics.transforms import Array, triple
from softgrasp.model import names
from softgrasp.model.visual import CONTACT_RGBA, IN_CONTACT_RGBA
from softgrasp.rendering.camera import Camera, find_covered_geoms, geom_corner_points
from softgrasp.rendering.overlay import Arrow, Ball, Mark, Rgba
from softgrasp.rendering.rays import Caster
from softgrasp.sim.contacts import BodyContactState, ContactPoint, contact_points, merge
from softgrasp.sim.run_record import ContactEvent

Instant = tuple[float, str]
"""Simulated time [s] and caption."""

APART = 0.1
"""Distance of the middle key frame from the ends of the contact phase, over its duration."""
_FRACTIONS = {0.25: "a quarter", 0.5: "half way", 0.75: "three quarters"}
LOADED = (
    Outcome.HELD, Outcome.SUPPORTED, Outcome.SHIFTED, Outcome.SLIPPING, Outcome.DROPPED
)  # fmt: skip
"""Outcomes that the load of the hold test decides."""
_ENDINGS = {Outcome.SHIFTED: "shifted in the hand", Outcome.TIMED_OUT: "still closing"}
"""Captions of outcomes, where they are not their names."""

ARROW_RATIO, MAX_ARROW_RATIO = 0.13, 0.17
"""Length of the arrow of a large force, and maximum length, over the image height."""
LARGE_FORCE_PERCENTILE = 95.0
"""Percentile of the forces that scales the arrows; impacts are much larger."""
BALL_RATIO, SHAFT_RATIO = 0.008, 0.0045
"""Radii of contact points and arrows over the image height."""
HIDDEN_ALPHA = 0.25
"""Opacity of contact points and arrows behind the object or another finger."""
BESIDE_RATIO = 0.024
"""Distance of the tested point from the contact, outside the object, over the image height."""
MAX_LAYERS, LAYER_STEP = 16, 1e-4
"""Maximum number of surfaces of a finger in front of its contact, and the step behind each."""
CAMERA_SAMPLES = 16
"""Number of instants of a run that the camera frames."""
STRAY = 1.3
"""Points farther from the hand centre than this many hand radii are not framed."""

LONGEST = {"hold": 1.0, "push": 0.8}
"""Maximum duration of a phase in a video by the first word of its name [s]; 2 s of others."""

SHORTEST = 0.02
"""Shorter phases are not shown separately [s]."""
MAX_KEY_FRAMES = 3
"""Number of key frames between start and end."""


class VideoPart(NamedTuple):
    """A part of a video: its end in simulated time, and its duration in the video."""

    end: float
    """Simulated time at which it ends [s]."""
    seconds: float
    """Duration in the video [s]."""
    name: str
    is_closing: bool


class Playback(ReplayedResult):
    """States of a finished run over time, with the marks and colours drawn in its images."""

    def __init__(self, result: GraspResult) -> None:
        super().__init__(result)
        self._movers = [*filter(self._moves, find_covered_geoms(self.model).tolist())]
        self._geoms = {
            body: np.flatnonzero(self.model.geom_bodyid == self.model.body(body).id).tolist()
            for body in result.contact_bodies.tolist()
        }
        self._fingers = {part.body: part.finger or part.body for part in result.contacts}
        forces = result.normal_force[result.in_contact]
        if not forces.size:
            forces = result.normal_force[result.normal_force > 0.0]
        largest = np.percentile(forces, LARGE_FORCE_PERCENTILE) if forces.any() else 1.0
        self._large_force = float(largest)
        """Force of an arrow of length ``ARROW_RATIO`` [N], the scale of all arrows."""

    def colors(self, time: float) -> dict[int, Rgba]:
        """Colours of the geoms of bodies in established contact at a time [s]."""
        established = self.result.in_contact[self.row(time)[0]]
        bodies = self.result.contact_bodies[established].tolist()
        return {geom: IN_CONTACT_RGBA for body in bodies for geom in self._geoms[body]}

    def marks(self, time: float, camera: Camera, window: float = 0.0) -> list[Mark]:
        """Return contact points and force arrows of the posed state, faint where they are hidden.

        Forces are averaged over a window [s] around the time [s]; the camera determines the sizes.
        """
        height = 2.0 * camera.distance * np.tan(0.5 * np.radians(camera.fovy_deg))
        hand_bodies = set(self.result.contact_bodies.tolist())
        every = contact_points(self.model, self.data)
        points = [point for point in every if point.body in hand_bodies]
        first, last = self.row(time - 0.5 * window)[0], self.row(time + 0.5 * window)[0]
        forces = self.result.normal_force[first : last + 1].mean(axis=0)
        caster = Caster(self.model, self.data, under_skins=True)

        def rgba(part: ContactPoint | BodyContactState, body: str) -> Rgba:
            outside = np.array(part.point) - BESIDE_RATIO * height * np.array(part.normal)
            hidden = self._is_hidden(caster, camera.position, outside, body)
            return (*CONTACT_RGBA[:3], HIDDEN_ALPHA) if hidden else CONTACT_RGBA

        drawn_marks: list[Mark] = [
            Ball(triple(contact.point), BALL_RATIO * height, rgba(contact, contact.body))
            for contact in points
        ]
        for body, force in zip(self.result.contact_bodies.tolist(), forces, strict=True):
            state = merge(on_deepest([contact for contact in points if contact.body == body]))
            if state is None or force <= 0.0:
                continue
            length_ratio = min(ARROW_RATIO * force / self._large_force, MAX_ARROW_RATIO)
            # the tip is at the contact point; inside the object arrows would intersect
            start = np.array(state.point) - length_ratio * height * np.array(state.normal)
            shaft = SHAFT_RATIO * height
            drawn_marks.append(Arrow(triple(start), state.point, shaft, rgba(state, body)))
        return drawn_marks

    def _is_hidden(self, caster: Caster, eye: Array, point: Array, body: str) -> bool:
        """Whether a point beside the contact of a body is behind anything but its finger."""
        finger, begin = self._fingers[body], eye
        for _ in range(MAX_LAYERS):
            hits = caster.hits(begin, (point - begin)[None])
            geom, distance = int(hits.geom[0]), float(hits.distance[0])
            if geom < 0 or distance >= 1.0:
                return False
            name = self.model.body(int(self.model.geom_bodyid[geom])).name
            if self._fingers.get(name) != finger:
                return True
            begin = begin + (distance + LAYER_STEP) * (point - begin)
        return False

    def cloud(self, begin: float | None = None) -> Array:
        """World points of the hand and the objects to be framed [m], shape (n, 3).

        An object that leaves the hand is followed up to ``STRAY`` hand radii; lifted objects are
        always followed. The surroundings may extend beyond the image. The interval begins at
        ``begin`` [s], by default with the run.
        """
        start = self.result.time[0]
        first = geom_corner_points(self.model, self.pose(start), self._movers)
        hand = names.hand_body(self.result.scene.hand)
        palm = self.data.body(hand).xpos.copy()
        middle = first.mean(axis=0)
        reach = np.linalg.norm(first - middle, axis=1).max()
        lift = self.result.scene.lift
        farthest = STRAY * reach + (0.0 if lift is None else lift.height)
        near = []
        for time in self.sampled_times(begin):
            points = geom_corner_points(self.model, self.pose(time), self._movers)
            away = np.linalg.norm(points - middle, axis=1)
            if self.result.scene.on_wrist:  # points that move with the hand are always framed
                carried = middle + self.data.body(hand).xpos - palm
                away = np.minimum(away, np.linalg.norm(points - carried, axis=1))
            near.append(points[away <= farthest])
        return np.concatenate(near)

    def sampled_times(self, begin: float | None = None) -> list[float]:
        """Return evenly spaced times and the ends of phases, from ``begin`` or the start on [s]."""
        start, end = self.result.time[[0, -1]].tolist()
        start = start if begin is None else begin
        even = np.linspace(start, end, CAMERA_SAMPLES).tolist()
        ends = self.result.phases if has_phases(self.result) else ()
        return sorted({*even, *(phase.end_s for phase in ends if start < phase.end_s < end)})

    @cached_property
    def framed_objects(self) -> list[str]:
        """Bodies of the objects, without further ones that cannot move."""
        scene = self.result.scene
        first, *others = names.object_bodies(scene)
        placed = zip(others, scene.objects, strict=True)
        return [first, *(body for body, item in placed if item.mount != "fixed")]

    def _moves(self, geom: int) -> bool:
        body = self.model.body(int(self.model.geom_bodyid[geom])).name
        fixed = names.is_object(body) and body not in self.framed_objects
        return not (names.is_around(body) or fixed)


def on_deepest(points: list[ContactPoint]) -> list[ContactPoint]:
    """Select the contacts of a body with the object that it penetrates deepest.

    Posed states have no forces to weight the normals of different objects.
    """
    if not points:
        return points
    object_name = min(points, key=lambda point: point.separation).object_name
    return [point for point in points if point.object_name == object_name]


def key_frames(result: GraspResult) -> tuple[Instant, ...]:
    """Select five key frames: start, first contact, an intermediate, last contact, end.

    The intermediate one is the contact event closest to the median of all; if all contacts occur at
    once, it is half way to the first one. Without contacts the run is divided into quarters.

    Returns:
        Five (time [s], caption) with non-decreasing times, from the first to the last sample; one
        for a run of a single sample.
    """
    start, end = float(result.time[0]), float(result.time[-1])
    ends = [(start, "start"), (end, _ending(result))]
    if len(result.time) == 1:
        return (ends[1],)
    if has_phases(result):
        return (ends[0], *phase_key_frames(result), ends[1])
    touching = [event for event in result.events if event.kind == "touching"]
    if not touching:
        between = [(start + part * (end - start), text) for part, text in _FRACTIONS.items()]
        return (ends[0], *between, ends[1])
    established = [event for event in result.events if event.kind == "established"]
    first, last = touching[0], (established or result.events)[-1]
    picks = [
        (first.time_s, f"first contact: {_bodies(result, first)}"),
        _middle(result, first.time_s, last.time_s),
        (last.time_s, f"last {last.kind}: {_bodies(result, last)}"),
    ]
    return (ends[0], *sorted(picks, key=lambda pick: pick[0]), ends[1])


def _ending(result: GraspResult) -> str:
    name = result.outcome.name.lower().replace("_", " ")
    ending = f"end: {_ENDINGS.get(result.outcome, name)}"
    if result.outcome not in LOADED or result.hold is None or result.hold.weight_N == 0.0:
        return ending
    return f"{ending} at {result.hold.weight_N:.2g} N of weight"


def _bodies(result: GraspResult, event: ContactEvent) -> str:
    """Name bodies with the same event at the same sample: ``F1 P3 + 3 more``."""
    same = [e for e in result.events if (e.time_s, e.kind) == (event.time_s, event.kind)]
    first = body_label(same[0])
    return first if len(same) == 1 else f"{first} + {len(same) - 1} more"


def _middle(result: GraspResult, first: float, last: float) -> Instant:
    margin = APART * (last - first)
    inner = [e for e in result.events if first + margin < e.time_s < last - margin]
    inner = [event for event in inner if event.kind == "established"] or inner
    # simultaneous contacts need only one image
    if not inner or last - first < 0.02 * float(result.time[-1] - result.time[0]):
        start = float(result.time[0])
        return (start + 0.5 * (first - start), "half way to contact")
    median = float(np.median([event.time_s for event in inner]))
    event = min(inner, key=lambda candidate: abs(candidate.time_s - median))
    kind = "contact lost" if event.kind == "lost" else event.kind
    return (event.time_s, f"{kind}: {_bodies(result, event)}")


def phase_key_frames(result: GraspResult) -> list[tuple[float, str]]:
    """Select three key frames (time [s], caption) of a run with phases.

    They are the end of the closure, a failure, and evenly distributed ends of other phases.
    """
    closing, hold = result.closing, result.hold
    chosen: dict[float, str] = {}
    if closing is not None:
        chosen[closing.end_s] = "closed"
    if hold is not None and hold.failed_s is not None and hold.failed_in is not None:
        chosen[hold.failed_s] = f"beyond the limits: {hold.failed_in}"
    others = [phase for phase in choose_shown_phases(result)[:-1] if phase is not closing]
    missing = max(MAX_KEY_FRAMES - len(chosen), 0)
    for index in range(missing if others else 0):
        nearest = round((index + 0.5) * len(others) / missing - 0.5)
        phase = others[min(nearest, len(others) - 1)]
        chosen.setdefault(phase.end_s, f"end of {phase.name}")
    start, end = float(result.time[0]), float(result.time[-1])
    for fraction in (0.5, 0.25, 0.75):  # if there are too few phases
        if len(chosen) < MAX_KEY_FRAMES:
            chosen.setdefault(start + fraction * (end - start), "in motion")
    return sorted(chosen.items())[:MAX_KEY_FRAMES]


def body_label(part: BodyContact | ContactEvent) -> str:
    """Return the display name of a body of the hand: ``F1 P3``, or ``left palm``."""
    finger, phalanx = part.finger, part.phalanx
    whole = part.body if not finger else f"{finger} {phalanx}"
    return (phalanx if finger and phalanx.startswith(finger) else whole).replace("_", " ")


def has_phases(result: GraspResult) -> bool:
    """Whether a run has more phases than a closure with a gravity ramp or a lift."""
    return bool(result.phases) and not result.scene.is_plain


def video_parts(result: GraspResult, slowdown: float) -> list[VideoPart]:
    """Video parts of the phases of a run; ``slowdown`` is video time over time in the closure."""
    parts = []
    for phase in choose_shown_phases(result):
        lasting, is_closing = phase.end_s - phase.start_s, phase is result.closing
        longest = LONGEST.get(phase.name.split()[0], 2.0)
        seconds = slowdown * lasting if is_closing else min(lasting, longest)
        parts.append(VideoPart(phase.end_s, seconds, phase.name, is_closing))
    return parts


def choose_shown_phases(result: GraspResult) -> list[PhaseSpan]:
    """Return the phases that last at least ``SHORTEST`` seconds."""
    return [phase for phase in result.phases if phase.end_s - phase.start_s >= SHORTEST]
