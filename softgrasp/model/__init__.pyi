from softgrasp.model.dh_convention import with_convention as with_convention
from softgrasp.model.scene import build_spec as build_spec
from softgrasp.model.scene import compile_model as compile_model
from softgrasp.model.scene import to_mjcf as to_mjcf

NAMES: dict[str, tuple[str, ...]]
