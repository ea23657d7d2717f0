"""Debouncing over the samples of one action: the same as the law, sample by sample."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.description.closure import PositionIncrementClosure
from softgrasp.envs.episode import ContactSensing
from softgrasp.sim.debounced_closing import debounce

FORCE = st.sampled_from([0.0, 0.05, 0.1, 0.2, 30.0])
"""Around the threshold of 0.1 N, which itself does not count."""


@given(
    st.integers(1, 4),
    st.lists(st.lists(st.tuples(FORCE, FORCE), min_size=1, max_size=7), min_size=1, max_size=6),
)
def test_contacts_are_those_of_the_law(
    samples: int, actions: list[list[tuple[float, float]]]
) -> None:
    touch = ContactSensing(2, PositionIncrementClosure(samples=samples, threshold=0.1))
    counts, touched, in_contact, changes = ([0, 0] for _ in range(4))
    for forces in actions:
        for row in forces:
            debounce(row, 0.1, samples, counts, touched, in_contact, changes)
        touch.update(np.array(forces))
        assert touch.in_contact.tolist() == [bool(flag) for flag in in_contact]
        assert touch.forces.tolist() == list(forces[-1])
