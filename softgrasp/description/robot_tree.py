"""Links and what joins them must be one tree: one root, one parent a link, no cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    known, into = set(links), dict[str, tuple[Edge, Place]]()
    for edge, place in _placed(joints, bendables):
        for end in ("parent", "child"):
            name = getattr(edge, end)
            if name not in known:
                raise FieldError(f"no link '{name}'; {did_you_mean(name, links)}", *place, end)
        if edge.child in into:
            raise FieldError(
                f"expected one parent of link '{edge.child}', found "
                f"'{into[edge.child][0].parent}' and '{edge.parent}'",
                *place,
                "child",
            )
        into[edge.child] = (edge, place)
    _refuse_cycles(into)
    roots = [index for index, link in enumerate(links) if link not in into]
    if len(roots) > 1:
        found = ", ".join(links[index] for index in roots)
        raise FieldError(
            f"expected one root link, found {len(roots)}: {found}", "links", roots[1], "name"
        )


def root_link(links: Sequence[str], joints: Sequence[Edge], bendables: Sequence[Edge]) -> str:
    """The link that has no parent, of links that make one tree."""
    children = {edge.child for edge, _ in _placed(joints, bendables)}
    return next(link for link in links if link not in children)


def _placed(joints: Sequence[Edge], bendables: Sequence[Edge]) -> list[tuple[Edge, Place]]:
    return [
        *((edge, ("joints", index)) for index, edge in enumerate(joints)),
        *((edge, ("bendables", index)) for index, edge in enumerate(bendables)),
    ]


def _refuse_cycles(into: Mapping[str, tuple[Edge, Place]]) -> None:
    """Refuse a link that is its own ancestor; ``into`` holds what joins a child to its parent."""
    rooted: set[str] = set()
    for start in into:
        way = dict.fromkeys([start])
        link = start
        while link in into and link not in rooted:
            edge, place = into[link]
            link = edge.parent
            if link in way:
                cycle = list(way)[list(way).index(link) :]
                found = " → ".join(reversed([*cycle, link]))
                raise FieldError(f"expected no cycle, found {found}", *place, "parent")
            way[link] = None
        rooted.update(way)
