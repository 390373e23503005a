"""Studies that papers have made, by name."""

from hwsim.study.presets import flexible_fp8, fp8_formats, hfp8, mx, real_model
from hwsim.study.presets.context import Context, Preset, Size

PRESETS: dict[str, Preset] = {one.PRESET.name: one.PRESET for one in (fp8_formats, hfp8, flexible_fp8, mx, real_model)}

__all__ = ["PRESETS", "Context", "Preset", "Size"]
