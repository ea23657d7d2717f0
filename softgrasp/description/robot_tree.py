"""Links and what joins them must be one tree: one root, one parent a link, no cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from softgrasp.description.problems import FieldError, Place
from softgrasp.errors import did_you_mean


class Edge(Protocol):
    """What joins a parent link and a child link."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def parent(self) -> str: ...  # noqa: D102
    @property
    def child(self) -> str: ...  # noqa: D102


def check_tree(links: Sequence[str], joints: Sequence[Edge], bendables: Sequence[Edge]) -> None:
    """Refuse links that do not make one tree.

    Args:
        links: Names of all links.
        joints: Rigid joints.
        bendables: Bendable segments.

    Raises:
        FieldError: A link does not exist, has two parents, lies on a cycle, or has no way to the
            root.
    """
    parent_of: dict[str, str] = {}
    for edge, place in _placed(joints, bendables):
        for end in ("parent", "child"):
            name = getattr(edge, end)
            if name not in links:
                raise FieldError(f"no link '{name}'; {did_you_mean(name, links)}", *place, end)
        if edge.child in parent_of:
            raise FieldError(
                f"expected one parent of link '{edge.child}', found '{parent_of[edge.child]}' "
                f"and '{edge.parent}'",
                *place,
                "child",
            )
        parent_of[edge.child] = edge.parent
    _refuse_cycles(parent_of)
    roots = [link for link in links if link not in parent_of]
    if len(roots) != 1:
        raise FieldError(f"expected one root link, found {len(roots)}: {', '.join(roots)}", "links")


def root_link(links: Sequence[str], joints: Sequence[Edge], bendables: Sequence[Edge]) -> str:
    """The link that has no parent, of links that make one tree."""
    children = {edge.child for edge, _ in _placed(joints, bendables)}
    return next(link for link in links if link not in children)


def _placed(joints: Sequence[Edge], bendables: Sequence[Edge]) -> list[tuple[Edge, Place]]:
    return [
        *((edge, ("joints", index)) for index, edge in enumerate(joints)),
        *((edge, ("bendables", index)) for index, edge in enumerate(bendables)),
    ]


def _refuse_cycles(parent_of: dict[str, str]) -> None:
    for start in parent_of:
        seen, link = [start], start
        while link in parent_of:
            link = parent_of[link]
            if link in seen:
                way = " → ".join([*seen[seen.index(link) :], link])
                raise FieldError(f"expected no cycle, found {way}", "links")
            seen.append(link)
