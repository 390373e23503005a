"""Whole products that libraries of GPUs computed, as captured files have them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hwsim
from hwsim.compute.profiling import CapturedProduct
from hwsim.spec.profile import ProfiledCall

E4M3 = hwsim.get_format("e4m3")
NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3"}
OUTPUTS = {**NAMES, "f32": "f32", "bf16": "bf16"}


def f32(codes: Any) -> Any:
    """Codes of binary32 as numbers."""
    return np.ascontiguousarray(codes).view(np.float32)


def bf16(codes: Any) -> Any:
    """Codes of bfloat16 as numbers."""
    return f32(np.asarray(codes).astype(np.uint32) << 16)


def converted(codes: Any, fmt: str) -> Any:
    """E4M3 codes as codes of a wider format, exactly."""
    return hwsim.get_format(fmt).encode(E4M3.decode(codes))


class Captured:
    """A captured file."""

    def __init__(self, path: Path):
        self.arrays = np.load(path)
        self.facts = json.loads(str(self.arrays["facts"]))

    def products(self) -> Iterator[tuple[str, CapturedProduct]]:
        """The products of one unit and one plan, with the names that they have in the file."""
        for call in self.facts["calls"]:
            name = call["name"]
            base, _, said = name.partition("/")
            if base.startswith(("splitk", "plan", "epilogue")) and not said.startswith("sparse"):
                yield name, self._product(name, base, said, call["kernels"])

    def of_blocks(self) -> Iterator[tuple[str, CapturedProduct]]:
        """The products with scales of blocks along K. Columns of B that were kept have a scale each."""
        for call in self.facts["calls"]:
            base, kind = call["name"].split("/")[:2]
            if not base.startswith(("vec-vec", "blocks1x128")) or call["name"].endswith("/F"):
                continue
            scaling = {"vec-blk": "1x128,128x128", "blk-vec": "128x128,1x128"}.get(kind, "1x128,1x128")
            of_a, of_b = ("sa128" if kind == "blk-vec" else "sa"), ("sb128" if kind == "vec-blk" else "sb")
            keys = {"output": OUTPUTS.get(kind, "f32"), "scaling": scaling, "fast": False}
            m, n, k = map(int, base.split("-")[-1].split("x"))
            a, b, sa, sb = (self.arrays[f"{base}/{key}"] for key in ("a", "b", of_a, of_b))
            numbers = {"scale_a": f32(sa), "scale_b": f32(np.ascontiguousarray(sb.T))}
            said = ProfiledCall(operation="scaled_mm", a="e4m3", b="e4m3", **keys)
            yield call["name"], CapturedProduct(said, (m, n, k), a, b.T, self.arrays[f"{call['name']}/d"], numbers)

    def _product(self, name: str, base: str, said: str, kernels: list[str]) -> CapturedProduct:
        of = {key: self.arrays[f"{base}/{key}"] for key in BESIDE if f"{base}/{key}" in self.arrays}
        a, b = of["a"], of["b"].T
        m, n, k = map(int, base.split("-")[1].split("x"))
        operation, fmt, keys, numbers = _said(said, of)
        if fmt != "e4m3":
            a, b = converted(a, fmt), converted(b, fmt)
        call = ProfiledCall(operation=operation, a=fmt, b=fmt, **keys)
        split = any("splitK" in kernel for kernel in kernels)
        return CapturedProduct(call, (m, n, k), a, b, self.arrays[f"{name}/d"], numbers, split)


BESIDE = ("a", "b", "s", "ra", "rb", "bias", "bias16", "biasf16", "c", "c16")
ONE = np.float32(1)


def _said(said: str, of: dict[str, Any]) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """Operation, factors' format, keys of the call and numbers, of a call's name in a file."""
    if match := re.fullmatch(r"(fast|slow)-(tensor|row)(?:-(b16|bf16))?-(\w+)", said):
        speed, scaling, bias, output = match.groups()
        scales = {"scale_a": f32(of["ra"]), "scale_b": f32(of["rb"])}
        if scaling == "tensor":
            scales = dict(zip(scales, f32(of["s"]), strict=True))
        added = {"b16": "bf16", "bf16": "f16"}.get(bias or "", "none")
        numbers = {"none": {}, "bf16": {"bias": bf16(of["bias16"])}}.get(added)
        if numbers is None:
            numbers = {"bias": of["biasf16"].view(np.float16).astype(np.float32)}
        keys = {"output": NAMES[output], "scaling": scaling, "fast": speed == "fast", "bias": added}
        return "scaled_mm", "e4m3", keys, {**scales, **numbers}
    if match := re.fullmatch(r"rowwise-(fast|slow)", said):
        keys = {"output": "bf16", "scaling": "row", "fast": match[1] == "fast"}
        return "scaled_mm", "e4m3", keys, {"scale_a": f32(of["ra"]), "scale_b": f32(of["rb"])}
    if match := re.fullmatch(r"(fast|slow)-scaled-bias", said):
        keys = {"output": "bf16", "scaling": "tensor", "fast": match[1] == "fast", "bias": "bf16"}
        numbers = {"scale_a": np.float32(0.37), "scale_b": np.float32(1.9), "bias": bf16(of["bias"])}
        return "scaled_mm", "e4m3", keys, numbers
    if match := re.fullmatch(r"(fast|slow)-(float32|bfloat16|f32|bf16)", said):
        keys = {"output": OUTPUTS[match[2]], "scaling": "tensor", "fast": match[1] == "fast"}
        return "scaled_mm", "e4m3", keys, {"scale_a": ONE, "scale_b": ONE}
    if match := re.fullmatch(r"(bf16|f16|tf32)-(mm|addmm)(-f32)?|bf16-(f32|bf16)", said):
        fmt = match[1] or "bf16"
        output = "f32" if match[3] or fmt == "tf32" else match[4] or fmt
        if match[2] != "addmm":
            return "mm", fmt, {"output": output}, {}
        c = f32(of["c"]) if output == "f32" else bf16(of["c16"])
        return "addmm", fmt, {"output": output}, {"alpha": np.float32(1.3), "beta": np.float32(0.7), "c": c}
    raise AssertionError(said)
