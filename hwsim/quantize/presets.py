"""Quantisation rules by name."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Any

from hwsim.errors import InputTypeError
from hwsim.formats import Format, get_format
from hwsim.formats.catalog import nearest
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize.rule import Apply, Rule, Select, TensorScale

MX_ELEMENTS = {
    "mxfp8-e4m3": "e4m3",
    "mxfp8-e5m2": "e5m2",
    "mxfp6-e3m2": "e3m2",
    "mxfp6-e2m3": "e2m3",
    "mxfp4-e2m1": "e2m1",
    "mxint8": "mxint8",
}
OCP = "OCP Microscaling Formats (MX) 1.0, section 6.3"
PAPER = (
    "Rouhani et al. 2023, arXiv 2310.10537, Algorithm 1; microxcaling, mx/mx_ops.py, whose own flag for subnormals "
    "is off by default and flushes whole blocks"
)
TRAINING = "Micikevicius et al. 2022, arXiv 2209.05433, section 3; the order of operations is ours"
DEEPSEEK = {
    1: "DeepSeek-V3, inference/kernel.py, act_quant_kernel, to 2025-08-26",
    128: "DeepSeek-V3 Technical Report, 2024, arXiv 2412.19437, section 3.3.2; divided as its act_quant_kernel divides",
}
CLAMPED = "DeepSeek-V3, inference/kernel.py, act_quant_kernel, from 2025-08-27"
DEEPGEMM = "DeepGEMM 54e2261, deep_gemm/utils/math.py, ceil_to_ue8m0"
NVFP4 = "NVIDIA, Pretraining Large Language Models with NVFP4, 2025, arXiv 2509.25149, appendix C; x is divided"
TORCHAO = "torchao, prototype/mx_formats/nvfp4_tensor.py, nvfp4_quantize"
TRANSFORMER_ENGINE = "Transformer Engine d0067d0, common/cast/nvfp4/core_nvfp4.cuh; without its Hadamard transform"


@cache
def rules() -> MappingProxyType[str, Rule]:
    """Every rule that ships with hwsim, by name."""
    e8m0, f32 = get_format("e8m0"), get_format("f32")
    named: dict[str, Rule] = {}
    for name, element in MX_ELEMENTS.items():
        fmt = get_format(element)
        named[name] = Rule(element=fmt, scale_format=e8m0, source=OCP)
        named[f"mx-algorithm-1-{element}"] = Rule(
            element=fmt, scale_format=e8m0, flush=True, huge_scale="nan", source=PAPER
        )
    named |= _nvfp4()
    # 2^-149, not 0, is the scale of the smallest tensors; 1 that of zeros.
    divided: dict[str, Any] = {"scale_format": f32, "select": Select.DIVIDE, "apply": Apply.DIVIDE}
    divided |= {"zero_scale": 1.0, "least_scale": 2.0**-149}
    e4m3 = get_format("e4m3")
    for rows in (1, 128):
        named[f"deepseek-v3-{rows}x128"] = Rule(element=e4m3, block=(rows, 128), source=DEEPSEEK[rows], **divided)
        named[f"deepseek-v3-{rows}x128-power-of-two"] = Rule(
            element=e4m3, block=(rows, 128), scale_format=f32, select=Select.RCEIL, apply=Apply.RECIPROCAL,
            least_amax=1e-4, zero_scale=1.0, source=DEEPGEMM,
        )  # fmt: skip
    named["deepseek-v3.1-1x128"] = named["deepseek-v3-1x128"].replace(least_amax=1e-4, source=CLAMPED)
    wide: tuple[tuple[str, Format, str], ...] = (
        ("e4m3", e4m3, TRAINING),
        ("e5m2", get_format("e5m2"), TRAINING),
        ("int8", get_format("int8"), "Wu et al. 2020, arXiv 2004.09602, section 3.1.2, scale quantisation"),
    )
    for name, fmt, source in wide:
        for kind, block in (("tensor", (None, None)), ("channel", (1, None))):
            key = f"{name}-{kind}" if name == "int8" else f"{kind}-{name}"
            named[key] = Rule(element=fmt, block=block, source=source, **divided)
    return MappingProxyType(named)


def _nvfp4() -> dict[str, Rule]:
    common: dict[str, Any] = {"element": get_format("e2m1"), "scale_format": get_format("ue4m3"), "block": (1, 16)}
    common |= {"select": Select.DIVIDE, "apply": Apply.DIVIDE}
    block = Rule(source=NVFP4, **common)
    torchao = block.replace(zero_scale=0x08, least_scale=0x08, source=f"{TORCHAO}, to 0.16")
    later: dict[str, Any] = {"apply": Apply.TENSOR_RECIPROCAL, "source": f"{TORCHAO}, from 0.17"}
    return {
        "nvfp4": block.replace(tensor_scale=TensorScale.MULTIPLY),
        "nvfp4-block": block,
        "nvfp4-torchao": torchao.replace(tensor_scale=TensorScale.DIVIDE),
        "nvfp4-torchao-0.17": torchao.replace(tensor_scale=TensorScale.DIVIDE, **later),
        "nvfp4-block-torchao": torchao,
        "nvfp4-block-torchao-0.17": torchao.replace(**later),
        "nvfp4-transformer-engine": block.replace(
            tensor_scale=TensorScale.RECIPROCAL, apply=Apply.RECIPROCAL, no_scale="multiplied",
            source=TRANSFORMER_ENGINE,
        ),
    }  # fmt: skip


def get_rule(rule: str | Rule) -> Rule:
    """The rule of that name, or the rule itself.

    Raises SpecError (a ValueError) for an unknown name, naming the nearest; TypeError for anything else.
    """
    if isinstance(rule, Rule):
        return rule
    if not isinstance(rule, str):
        raise InputTypeError(f"rule must be a rule or the name of one, not {type(rule).__name__}")
    known = rules()
    if rule not in known:
        raise SpecError(nearest("rule", rule, known))
    return known[rule]
