"""Studies that papers have made, by name."""

from hwsim.study.presets import deepseek_2pct, silicon, snr_vector_length
from hwsim.study.presets.context import Context, Preset

PRESETS: dict[str, Preset] = {one.PRESET.name: one.PRESET for one in (deepseek_2pct, snr_vector_length, silicon)}

__all__ = ["PRESETS", "Context", "Preset"]
