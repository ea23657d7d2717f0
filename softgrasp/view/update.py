"""Things of a scene that move: what is there already is changed, or it would flicker."""

from __future__ import annotations

import viser


def updated(scene: viser.SceneApi, name: str, **properties: object) -> bool:
    """Change properties of what has a name in a scene.

    Returns:
        Whether it is there; else it has to be added.
    """
    handle = scene.get_handle_by_name(name)
    if handle is None:
        return False
    for key, value in properties.items():
        setattr(handle, key, value)
    return True
