"""Files that are right, and small: those from which wrong ones are made."""

from __future__ import annotations

UNIT = """unit: small
operands: {a: e5m2, b: e5m2, addend: f16}
instruction: {k: 8, lanes: 8}
sum: {method: aligned, fraction_bits: 10, lost: jam}
result: {format: f16, rounding: rne}
"""
STUDY = "study: s\ntrials: 1\nrows: 2\ncolumns: 2\nlengths: 32\nunits: [hopper-wgmma-e4m3-f32]\ndata: [normal]\n"
