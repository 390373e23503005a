"""Archives of arrays whose bytes depend on the arrays alone."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 30  # bytes of an array whose member has room for a length of 64 bits


def npz(arrays: Mapping[str, NDArray[Any]], compressed: bool = False) -> bytes:
    """The bytes of a .npz file, as `numpy.load` reads it.

    `numpy.savez` gives every member room for a length of 64 bits, which releases of Python write in two ways; here
    only large ones have it. A member's date is the same whenever it is written.
    """
    buffer = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=array.nbytes >= LARGE) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()
