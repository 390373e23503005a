"""Matrix products that a GPU's library returned, as `capture/gemm.py` writes them, and the units that say the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from hwsim.errors import InputError
from hwsim.formats import codes_of
from hwsim.formats.invalid import broken_rule
from hwsim.products import gemm
from hwsim.quantize.arrayfiles import members
from hwsim.readings.changes import changed
from hwsim.spec import Unit, load_unit

HOPPER = "9.0"
PROMOTED, SCALED = "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32-scaled"


class LibraryCall(BaseModel):
    """A product that was asked for. a, b: formats. numbers: what kind of them. kernels: the library's, by name."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    call: Literal["fp8-fast", "fp8-promoted", "fp8-blocks", "matmul"]
    a: Literal["e4m3", "e5m2", "f16", "bf16", "tf32"]
    b: Literal["e4m3", "e5m2", "f16", "bf16", "tf32"]
    numbers: str
    k: int
    kernels: list[str]

    @property
    def inputs(self) -> str:
        """The name of what it multiplies: several calls may multiply the same."""
        return f"{self.a}-{self.b}-{self.numbers}-{self.k}"

    @property
    def unit(self) -> Unit:
        """The unit that says what Hopper's kernels for this call return."""
        operands = {"operands": {"a": self.a, "b": self.b}}
        match self.call:
            case "fp8-fast" | "matmul":
                factors = self.a if self.a == self.b else f"{self.a}x{self.b}"
                return load_unit(f"hopper-wgmma-{factors}-f32")
            case "fp8-promoted":
                return changed(load_unit(PROMOTED), operands)
            case "fp8-blocks":
                # One scale for each of the columns that were kept, which are of several blocks.
                unit = changed(load_unit(SCALED), operands)
                return changed(unit, {"scale": {"b": {"format": "f32", "block": [128, 1]}}})
            case _:
                assert_never(self.call)


class _Facts(BaseModel):
    """What the file says of the GPU and its software."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    gpu: str
    capability: str
    torch: str
    cuda: str
    seed: int
    calls: list[LibraryCall]


@dataclass(frozen=True)
class LibraryProduct:
    """A product and what the library returned. a: codes (rows, K). b: codes (K, columns). returned: (rows, columns).

    scale_a, scale_b: codes (rows, K / 128) and (K / 128, columns), or None.
    """

    call: LibraryCall
    a: NDArray[Any]
    b: NDArray[Any]
    scale_a: NDArray[Any] | None
    scale_b: NDArray[Any] | None
    returned: NDArray[Any]

    def equal(self, unit: Unit | None = None) -> int:
        """Of how many results a unit says the same; without one, the call's own."""
        unit = unit or self.call.unit
        product = gemm(unit, self.a, self.b, None, self.scale_a, self.scale_b)
        return int((codes_of(unit.output, product) == self.returned).sum())


@dataclass(frozen=True)
class LibraryProducts:
    """The products of one GPU's library. software: PyTorch's version and CUDA's."""

    gpu: str
    software: str
    seed: int
    products: list[LibraryProduct]


def read_products(path: Path) -> LibraryProducts:
    """The products of a file.

    Raises OSError, and InputError for a file that `capture/gemm.py` does not write, or of a GPU without known units.
    """
    (said,) = members(path, ["facts"])
    try:
        facts = _Facts.model_validate(json.loads(str(said)))
    except ValidationError as error:
        first = error.errors()[0]
        where, rule = broken_rule(first)
        key = ".".join(map(str, (*first["loc"], *where))) or "they"
        raise InputError(f"{path}: its facts are not what capture/gemm.py writes: {key} {rule}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: its facts are not what capture/gemm.py writes: they are no JSON") from None
    if facts.capability != HOPPER:
        raise InputError(
            f"{path}: products of {facts.gpu}, of compute capability {facts.capability}; which units its library's "
            f"kernels are made of is known for {HOPPER} alone"
        )
    software = f"PyTorch {facts.torch}, CUDA {facts.cuda}"
    return LibraryProducts(facts.gpu, software, facts.seed, [_product(path, call) for call in facts.calls])


def _product(path: Path, call: LibraryCall) -> LibraryProduct:
    scales = ("scale_a", "scale_b") if call.call == "fp8-blocks" else ()
    names = [f"{call.inputs}/{name}" for name in ("a", "b", call.call, *scales)]
    arrays = members(path, names)
    rows, columns = arrays[2].shape[:1], arrays[2].shape[1:]
    blocks = (call.k // 128,)
    shapes = [(*rows, call.k), (call.k, *columns), (*rows, *columns), (*rows, *blocks), (*blocks, *columns)]
    for name, array, shape in zip(names, arrays, shapes, strict=False):
        if array.shape != shape or array.dtype.kind != "u":
            raise InputError(f"{path}: {name} must be codes {shape}, not {array.dtype} {array.shape}")
    a, b, returned = arrays[:3]
    scale_a, scale_b = arrays[3:] if scales else (None, None)
    return LibraryProduct(call, np.ascontiguousarray(a), np.ascontiguousarray(b), scale_a, scale_b, returned)
