"""Hard units: in the model, and refused by name in the RTL, but for the last."""

UE4M3 = """\
kind: float
summary: unsigned E4M3, the scale of NVFP4
exponent_bits: 4
fraction_bits: 3
bias: 7
signed: false
signed_zero: false
nan: [0x7F]
"""

DLFLOAT16 = """\
kind: float
summary: IBM's 1-6-9; NaN and infinity merged, no subnormals
exponent_bits: 6
fraction_bits: 9
bias: 31
subnormals: false
nan: [0x7FFF, 0xFFFF]
"""

CDNA3 = """\
unit: cdna3-mfma-e4m3-f32
operands: {a: e4m3, b: e4m3, addend: f32}
instruction: {k: 16, lanes: 16, start: zero}
sum: {method: even-odd, fraction_bits: 24, lost: truncate, combine: {fraction_bits: 24, lost: floor}, addend: late}
late: {operation: window, sum_bits: 31, addend_bits: 24, lost: floor, drop_below: 25}
result: {format: f32, rounding: rne}
"""

NVFP4 = """\
unit: mxf4nvf4-e2m1-f32
operands: {a: e2m1, b: e2m1, addend: f32}
scale: {a: {format: ue4m3.yaml, block: [1, 16]}, b: {format: ue4m3.yaml, block: [16, 1]}, at: subgroup}
instruction: {k: 64, lanes: 64}
sum: {method: aligned, subgroup: {lanes: 16, method: exact, exponent: scales}, fraction_bits: 35, addend: aligned}
result: {format: f32, rounding: rz}
"""

SCALED = """\
unit: deepseek-v3-e4m3-f32-scaled
operands: {a: e4m3, b: e4m3, addend: f32}
scale: {a: {format: f32, block: [1, 128]}, b: {format: f32, block: [128, 128]}, at: promotion}
instruction: {k: 32, lanes: 32}
sum: {method: aligned, fraction_bits: 13, lost: truncate, addend: aligned}
result: {format: e8m13, rounding: rz, overflow: infinity}
promotion: {interval: 128, format: f32, operation: fma, rounding: rne}
"""

HFP8 = """\
unit: hfp8-e4m3-dlfloat16
operands: {a: e4m3, b: e4m3, addend: dlfloat16.yaml}
instruction: {k: 64, lanes: 1}
sum: {method: sequential, product: fused, format: dlfloat16.yaml, rounding: rna}
result: {format: dlfloat16.yaml, rounding: rna, overflow: nan}
promotion: {interval: 64, format: dlfloat16.yaml, operation: add, rounding: rna}
"""

# The example; what the RTL's refusal names; arguments of ones, and the code of their sum.
ONES = [[0x38] * 128]
HARD = {
    "cdna3": (CDNA3, (ONES, ONES), 0x43000000),
    "nvfp4": (NVFP4, ([[2] * 128], [[2] * 128], None, [[0x40] * 8], [[0x34] * 8]), 0x43400000),
    "scaled": (SCALED, (ONES, ONES, None, [[0x40000000]], [[0x3E800000]]), 0x42800000),
    "hfp8": (HFP8, (ONES, ONES), 38 << 9),
}

RVBNA = """\
unit: rvbna-e4m3-f32-n16
operands: {a: e4m3, b: e4m3, addend: none}
instruction: {k: 16, lanes: 16, chain: none}
sum: {method: aligned, fraction_bits: 27, lost: jam}
result: {format: f32, rounding: rto, overflow: infinity, nan: 0x7FC00000}
"""
