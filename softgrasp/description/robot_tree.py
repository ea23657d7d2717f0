"""Links and what joins them must be one tree: one root, one parent a link, no cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from softgrasp.description.problems import FieldError, FieldPath
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
    known, into = set(links), dict[str, tuple[Edge, FieldPath]]()
    for edge, location in _placed(joints, bendables):
        for end in ("parent", "child"):
            name = getattr(edge, end)
            if name not in known:
                raise FieldError(f"no link '{name}'; {did_you_mean(name, links)}", *location, end)
        if edge.child in into:
            raise FieldError(
                f"expected one parent of link '{edge.child}', found "
                f"'{into[edge.child][0].parent}' and '{edge.parent}'",
                *location,
                "child",
            )
        into[edge.child] = (edge, location)
    _refuse_cycles(into)
    roots = [index for index, link in enumerate(links) if link not in into]
    if len(roots) > 1:
        names = ", ".join(links[index] for index in roots)
        raise FieldError(
            f"expected one root link, found {len(roots)}: {names}", "links", roots[1], "name"
        )


def root_link(links: Sequence[str], joints: Sequence[Edge], bendables: Sequence[Edge]) -> str:
    """The link that has no parent, of links that make one tree."""
    children = {edge.child for edge, _ in _placed(joints, bendables)}
    return next(link for link in links if link not in children)


def _placed(joints: Sequence[Edge], bendables: Sequence[Edge]) -> list[tuple[Edge, FieldPath]]:
    return [
        *((edge, ("joints", index)) for index, edge in enumerate(joints)),
        *((edge, ("bendables", index)) for index, edge in enumerate(bendables)),
    ]


def _refuse_cycles(into: Mapping[str, tuple[Edge, FieldPath]]) -> None:
    """Refuse a link that is its own ancestor; ``into`` holds what joins a child to its parent."""
    rooted: set[str] = set()
    for start in into:
        visited = dict.fromkeys([start])
        link = start
        while link in into and link not in rooted:
            edge, location = into[link]
            link = edge.parent
            if link in visited:
                cycle = list(visited)[list(visited).index(link) :]
                text = " → ".join(reversed([*cycle, link]))
                raise FieldError(f"expected no cycle, found {text}", *location, "parent")
            visited[link] = None
        rooted.update(visited)
