from softgrasp.model.dh_convention import with_convention as with_convention

NAMES: dict[str, tuple[str, ...]]
