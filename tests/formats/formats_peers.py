"""Formats that ml_dtypes, NumPy and gfloat have too."""

import ml_dtypes
import numpy as np
from gfloat import Domain, FormatInfo
from gfloat import formats as gf

# Which ml_dtypes cast, and how it treats what is too large. It rounds binary32 to nearest even, e8m0 ties up.
CASTS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, "nan"),
    "e5m2": (ml_dtypes.float8_e5m2, "infinity"),
    "e3m2": (ml_dtypes.float6_e3m2fn, "saturate"),
    "e2m3": (ml_dtypes.float6_e2m3fn, "saturate"),
    "e2m1": (ml_dtypes.float4_e2m1fn, "saturate"),
    "bf16": (ml_dtypes.bfloat16, "infinity"),
    "f16": (np.float16, "infinity"),
    "e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, "nan"),
    "e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, "nan"),
    "e4m3b11fnuz": (ml_dtypes.float8_e4m3b11fnuz, "nan"),
    "e4m3-ieee": (ml_dtypes.float8_e4m3, "infinity"),
    "e3m4": (ml_dtypes.float8_e3m4, "infinity"),
}


def gfloat_info(k, precision, bias, num_high_nans, domain=Domain.Finite, is_signed=True, has_nz=True):
    """A format that gfloat can describe and does not name."""
    return FormatInfo(
        "", k, precision, bias=bias, is_signed=is_signed, domain=domain, has_nz=has_nz,
        num_high_nans=num_high_nans, has_subnormals=True, is_twos_complement=False,
    )  # fmt: skip


GFLOAT = {
    "e4m3": gf.format_info_ocp_e4m3,
    "e5m2": gf.format_info_ocp_e5m2,
    "e3m2": gf.format_info_ocp_e3m2,
    "e2m3": gf.format_info_ocp_e2m3,
    "e2m1": gf.format_info_ocp_e2m1,
    "f16": gf.format_info_binary16,
    "bf16": gf.format_info_bfloat16,
    "e4m3-ieee": gfloat_info(8, 4, 7, 7, Domain.Extended),
    "e3m4": gfloat_info(8, 5, 3, 15, Domain.Extended),
    "e3m4-finite": gfloat_info(8, 5, 3, 1),
    "e5m6": gfloat_info(12, 7, 15, 63, Domain.Extended),
    "ue4m3": gfloat_info(7, 4, 7, 1, is_signed=False, has_nz=False),
    "e4m3fnuz": gfloat_info(8, 4, 8, 0, has_nz=False),
    "e5m2fnuz": gfloat_info(8, 3, 16, 0, has_nz=False),
    "e4m3b11fnuz": gfloat_info(8, 4, 11, 0, has_nz=False),
}
