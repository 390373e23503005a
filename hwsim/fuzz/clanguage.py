"""A unit's C, compiled and called with arrays."""

from __future__ import annotations

import ctypes
import os
import shutil

import numpy as np
from numpy.typing import NDArray

from hwsim import processes
from hwsim.cases.case import Batch
from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.errors import ToolMissing
from hwsim.leftovers import scratch_folder
from hwsim.spec import Unit

# -O0 compiles in a third of the time of -O1, and a thousand cases run in milliseconds.
FLAGS = ("-std=c99", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC")


class WrongC(RuntimeError):
    """A compiler refused an exported header; the message holds what it said."""


def dots_signature(plan: UnitInC) -> str:
    """`dots`, of arrays: codes of a and b (n, k), c (n,), scales (n, k / block), and results (n,)."""
    types = {side: plan.code_types.get(side, "uint8_t") for side in ("a", "b", "scale_a", "scale_b")}
    a, b, scale_a, scale_b = (f"const {kind} *{side}" for side, kind in types.items())
    return f"void dots({a}, {b}, const uint32_t *c, {scale_a}, {scale_b}, uint64_t n, uint64_t k, uint32_t *out)"


def dots_source(plan: UnitInC) -> str:
    """C with the function `dots`."""
    u, name = plan.u, plan.prefix
    c = ", c[i]" if u.operands.addend else ""
    scales = ", scale_a + i * (k / {}), scale_b + i * (k / {})".format(*plan.scale_blocks) if u.scale else ""
    return f"""#include "{name}.h"
{dots_signature(plan)};
{dots_signature(plan)}
{{
    for (uint64_t i = 0; i < n; ++i)
        out[i] = {name}_dot(a + i * k, b + i * k{c}{scales}, k);
    (void)c;
    (void)scale_a;
    (void)scale_b;
}}
"""


def c_compiler() -> str:
    """The C compiler. Raises ToolMissing where there is none."""
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None:
        raise ToolMissing("a C compiler is missing; install gcc")
    return found


class UnitInMachineCode:
    """One unit's exported header, compiled. Raises NotImplementedYet, ToolMissing and WrongC."""

    def __init__(self, unit: Unit):
        self.plan = UnitInC(unit, "0")
        with scratch_folder() as folder:
            (folder / f"{self.plan.prefix}.h").write_text(render(HEADER, self.plan), encoding="utf-8")
            source, made, log = folder / "dots.c", folder / "dots.so", folder / "log"
            source.write_text(dots_source(self.plan), encoding="utf-8")
            if processes.run([c_compiler(), *FLAGS, str(source), "-o", str(made)], log, dict(os.environ)):
                raise WrongC(log.read_text(errors="replace")[:2000])
            self._library = ctypes.CDLL(str(made))

    def codes(self, batch: Batch) -> NDArray[np.uint32]:
        """The result of every case: (n,)."""
        sides = {"a": batch.a, "b": batch.b, "scale_a": batch.scale_a, "scale_b": batch.scale_b}
        rows = {
            side: np.ascontiguousarray([] if codes is None else codes, self._kind(side))
            for side, codes in sides.items()
        }
        c, out = np.ascontiguousarray(batch.c, np.uint32), np.zeros(len(batch), np.uint32)
        a, b, scale_a, scale_b = (_at(row) for row in rows.values())
        n, k = (ctypes.c_uint64(size) for size in batch.a.shape)
        self._library.dots(a, b, _at(c), scale_a, scale_b, n, k, _at(out))
        return out

    def _kind(self, side: str) -> np.dtype[np.unsignedinteger]:
        return np.dtype(self.plan.code_types.get(side, "uint8_t").removesuffix("_t"))


def _at(array: NDArray[np.unsignedinteger]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
