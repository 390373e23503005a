"""Integers of a width in compiled code, which are ints for those who check types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integer = int | np.integer[Any]
int32: Callable[[Integer], int] = np.int32  # type: ignore[assignment]
int64: Callable[[Integer], int] = np.int64  # type: ignore[assignment]

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
