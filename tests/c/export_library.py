"""An exported header as a shared library, called through ctypes, and the same of the model, to compare."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from c.export_shim import shim

from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.spec import Unit

STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
C99, CPP17 = ("-std=c99", *STRICT), ("-std=c++17", *STRICT, "-x", "c++")
ROOM = 1 << 20  # integers that the stages of one dot product take at most


class Rows:
    """Integers as `stages` wrote them, taken one by one. words: of a wide one; 0 where one integer holds it."""

    def __init__(self, values: Sequence[int], words: int):
        self._values, self._words = iter(values), words

    def take(self) -> int:
        """The next integer."""
        return next(self._values)

    def wide(self) -> int:
        """The next integer of the kind that holds sums."""
        if not self._words:
            return self.take()
        value = sum(self.take() << 32 * word for word in range(self._words))
        return value - (value >> 32 * self._words - 1 << 32 * self._words)

    def __iter__(self) -> Iterator[int]:
        return self._values


def syntax(header: Path, *command: str) -> None:
    """A compiler, with these options, has nothing to say of a file that includes the header and does nothing else."""
    source = header.with_name("alone.c")
    source.write_text(f'#include "{header.name}"\n')
    done = subprocess.run([*command, "-fsyntax-only", str(source)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{' '.join(command)}\n{done.stderr[:4000]}"


class Library:
    """One unit, built by a compiler."""

    def __init__(
        self, unit: Unit, folder: Path, compiler: str = "gcc", flags: Sequence[str] = ("-O1", *C99), header: str = ""
    ):
        self.unit, self.plan = unit, UnitInC(unit, "0.0.0")
        folder.mkdir(parents=True, exist_ok=True)
        self.header = folder / f"{self.plan.prefix}.h"
        self.header.write_text(header or render(HEADER, self.plan))
        source, made = folder / "shim.c", folder / f"{compiler}.so"
        source.write_text(shim(self.plan))
        command = [compiler, *flags, "-shared", "-fPIC", "-o", str(made), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{unit.name}: {' '.join(command)}\n{done.stderr[:4000]}"
        self._library = ctypes.CDLL(str(made))
        self._library.stages.restype = ctypes.c_int64
        self._room = np.zeros(ROOM, np.int64)

    def _codes(self, side: str, codes: Any) -> np.ndarray:
        kind = self.plan.code_types.get(side, "uint8_t").removesuffix("_t")
        return np.ascontiguousarray(codes, dtype=kind)

    def takes(self, k: int) -> bool:
        """Whether there is a dot product of k products."""
        return bool(self._library.takes(ctypes.c_uint64(k)))

    def dots(self, a: Any, b: Any, c: Any, scale_a: Any = (), scale_b: Any = ()) -> list[int]:
        """The result's code of every row: a, b (n, k), c (n,), scales (n, k / block)."""
        rows = [self._codes(*side) for side in (("a", a), ("b", b), ("scale_a", scale_a), ("scale_b", scale_b))]
        addends = np.ascontiguousarray(c, np.uint32)
        n, k = rows[0].shape
        out = np.zeros(n, np.uint32)
        at = [ctypes.c_void_p(array.ctypes.data) for array in (*rows[:2], addends, *rows[2:], out)]
        self._library.dots(*at[:5], ctypes.c_uint64(n), ctypes.c_uint64(k), at[5])
        return out.tolist()  # type: ignore[no-any-return]

    def stages(self, a: Any, b: Any, c: int, scale_a: Any = (), scale_b: Any = ()) -> Rows:
        """The stages of one dot product."""
        rows = [self._codes(*side) for side in (("a", a), ("b", b), ("scale_a", scale_a), ("scale_b", scale_b))]
        at = [ctypes.c_void_p(array.ctypes.data) for array in rows]
        count = self._library.stages(
            *at[:2], ctypes.c_uint32(c), *at[2:], ctypes.c_uint64(len(rows[0])), ctypes.c_void_p(self._room.ctypes.data)
        )
        return Rows(self._room[:count].tolist(), self.plan.words)
