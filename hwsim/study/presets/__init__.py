"""Studies that papers have made, by name."""

from collections.abc import Callable

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
from hwsim.study.presets.preset import Context, Size
from hwsim.study.report.contents import StudyReport

MODULES = (deepseek_2pct, snr_vector_length, fp8_formats, hfp8, flexible_fp8, mx, silicon, real_model)
PRESETS: dict[str, Callable[[Context], StudyReport]] = {module.NAME: module.report for module in MODULES}

__all__ = ["PRESETS", "Context", "Size"]
