"""Studies that papers have made, by name."""

from hwsim.study.presets import (
    deepseek_2pct,
    flexible_fp8,
    fp8_formats,
    hfp8,
    mx,
    real_model,
    silicon,
    snr_vector_length,
)
from hwsim.study.presets.preset import Context, Preset, Size

MODULES = (deepseek_2pct, snr_vector_length, fp8_formats, hfp8, flexible_fp8, mx, silicon, real_model)
PRESETS: dict[str, Preset] = {module.PRESET.name: module.PRESET for module in MODULES}

__all__ = ["PRESETS", "Context", "Preset", "Size"]
