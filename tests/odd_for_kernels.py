"""Odd units for compiled kernels: what a kernel's vectors, widths and lanes make another program of."""

from __future__ import annotations

from unit_keys import (
    DL,
    E6M2,
    E6M9,
    I12,
    INT8,
    INT16,
    NEARBY,
    Mapping,
    chained,
    even_odd,
    exact_sum,
    late,
    mx,
    odd,
    order,
    promoted,
    scaled,
    subgroups,
    window,
    windowed,
)

# More of what kernels of chains, trees and exact sums do in other ways.
FOR_KERNELS: dict[str, Mapping] = {
    "chain-ordered": odd(
        "e4m3", "f16", chained("sequential", "f16", "rna"), "f16", 2, k=6, order=order(3, [2], [0], [1]),
    ),
    "chain-ordered-late": odd(
        "e5m2", "f16", chained("sequential", "bf16", "rz"), "bf16", 2, k=4, order=order(2, [1], [0]),
        **late("f16", "rd"),
    ),
    "chain-late-fnuz": odd(
        "e4m3", "e4m3fnuz", chained("sequential", "f16"), "e5m2", 3, **late("f16", "rne", flush=True),
    ),
    "chain-scaled": odd("e4m3", "f32", chained("sequential", "f32"), "f32", **mx(4, 2)),
    "chain-scaled-rz": odd("e2m1", "bf16", chained("sequential", "bf16", "rz"), "bf16", 2, **mx(2, 2)),
    "chain-converted": odd("e4m3", "bf16", chained("sequential", "bf16", "rto"), "bf16", 3, convert="f16", daz=True),
    "chain-fixed": odd("mxint8", "f16", chained("sequential", "f16", "ru", product="rounded"), "f16", 3, nan=0x7E00),
    "chain-f32-bf16": odd("bf16", "f32", chained("sequential", "f32"), "f32", 1),
    "chain-f32-lanes": odd("tf32", "none", chained("sequential", "f32"), "f32", 3, k=6, order=order(2, [1], [0])),
    "chain-f32-converted": odd("e5m2", "f16", chained("sequential", "f32"), "f32", 2, convert="f16", daz=True),
    "chain-f64-mixed": odd(("f32", "e4m3"), "bf16", chained("sequential", "f64"), "f64", 4, nan=0x7FF8000000000000),
    "chain-f64-int8": odd(("f64", "int8"), "none", chained("sequential", "f64"), "f64", 2),
    "chain-f32-rz": odd("f16", "f32", chained("sequential", "f32", "rz"), "f32", 1),
    "chain-bf16-f16": odd("f16", "bf16", chained("sequential", "bf16"), "bf16", 1),
    "chain-tf32": odd("tf32", "f32", chained("sequential", "tf32", "rna"), "tf32", 2),
    "chain-fnuz": odd("e4m3fnuz", "none", chained("sequential", "e5m2fnuz", "rd"), "e4m3fnuz", 2, overflow="nan"),
    "chain-e6m9": odd("e4m3", E6M9, chained("sequential", E6M9), E6M9, 1),
    "tree-ordered-late": odd(
        "e4m3", "f32", chained("pairwise", "f16"), "f16", 3, k=6, order=order(2, [1], [0]), **late("f32", "rne"),
    ),
    "tree-bare": odd("e4m3", "none", chained("pairwise", DL), DL, 5, overflow="nan"),
    "tree-nearby": odd("e5m2", NEARBY, chained("pairwise", NEARBY, "rz", product="rounded"), NEARBY, 3, overflow="nan"),
    "tree-scaled": odd("e2m1", "f16", chained("pairwise", "f16"), "f32", **mx(4, 4)),
    "exact-bf16": odd("bf16", "f32", exact_sum(), "f32", 3),
    "exact-bf16-group": odd("bf16", "bf16", exact_sum(rounded="group", zero="ieee"), "bf16", 3, rounding="rd"),
    "exact-tf32": odd("tf32", "none", exact_sum(), "f32", 2, k=8, rounding="rto", chain="none"),
    "exact-e5m2-scaled": odd("e5m2", "f32", exact_sum(), "f32", 16, **mx(16, 32)),
    "exact-mx-group": odd("e4m3", "f32", exact_sum(rounded="group", zero="ieee"), "f32", 8, **mx(8, 8)),
    "exact-mx-folded": odd("e4m3", "f32", exact_sum(), "f32", rounding="ru", **mx(2, 1)),
    "exact-mx-ordered": odd(
        "e2m1", "f16", exact_sum(zero="ieee"), "f16", k=8, order=order(4, [3, 0], [1, 2]), **mx(4, 2),
    ),
    "exact-long-group": odd("e5m2", "f16", exact_sum(rounded="group"), "f16", 150, rounding="rz"),
    "exact-f16-promoted": odd("f16", "f32", exact_sum(), "e8m13", 2, rounding="rz", **promoted(6, "f32", "rna")),
    "exact-scaled-promotion": odd(
        "e4m3", "f32", exact_sum(), "f16", **scaled("promotion", ("f32", 4), ("e8m0", 8)),
        **promoted(4, "f32", "rne", "fma"),
    ),
    "exact-sum-by-b-first": odd(
        "e4m3", "f32", exact_sum(), "f16", **scaled("promotion", ("f32", 4), ("f16", 8)),
        **promoted(4, "f32", "rne", "fma", "b"),
    ),
    "exact-saturate": odd("f16", "e5m2", exact_sum(zero="ieee"), "e4m3", 3, overflow="saturate", tiny="positive"),
    "exact-dl": odd("hfp8-e5m2", DL, exact_sum(rounded="group"), DL, rounding="rna", overflow="nan"),
    "int16-saturate": odd((INT16, INT8), INT16, exact_sum(), INT16, 5, rounding="rz", overflow="saturate"),
    "i12-wrap": odd(("e3m2", I12), I12, exact_sum(rounded="group"), I12, 3, rounding="rna", overflow="wrap"),
    "i12-rne": odd(("mxint8", I12), "none", exact_sum(), I12, overflow="saturate"),
}  # fmt: skip
# Windows, by the vectors of their kernels: what stands together is compiled once, or for presets already.
FOR_VECTORS: dict[str, Mapping] = {
    # More than 32 lanes; sums in four parts; scales of several blocks in a group, in their order and in another.
    "lanes-64": odd("e4m3", "f32", window(13), "e8m13", 64, rounding="rz"),
    "lanes-128-quarters": odd("f16", "f32", window(25), "f32", 128, rounding="rz"),
    "lanes-100-floor": odd("e5m2", "f32", window(20, "floor"), "f32", 100),
    "lanes-64-scaled": odd("e4m3", "f32", window(25), "f32", 64, rounding="rz", **mx(32, 16)),
    "lanes-48-scaled": odd(
        "e2m1", "f16", window(20), "f32", 24, k=48, order=order(4, [3, 0], [1, 2]), **mx(12, 8),
    ),
    # 16-bit lanes, finished in binary32, as of ada-mma-e4m3-f32.
    "single": odd("e4m3", "f32", window(13), "e8m13", 16, rounding="rz"),
    "single-bf16": odd("e5m2", "bf16", window(12), "e8m13", 13, rounding="rz"),
    "single-promoted": odd("e4m3", "f32", window(10), "e8m13", 14, rounding="rz", **promoted(28, "f32", "rd")),
    "single-late": odd("e5m2", "f32", window(9), "e8m13", 16, k=32, rounding="rz", **late("f32", "rd")),
    "single-bare": odd("e4m3", "none", window(13), "e8m13", 15, rounding="rz"),
    "single-floored": odd("e4m3", "f32", window(13, max_exp_floor=-4), "e8m13", 16, rounding="rz"),
    "single-floored-high": odd("e4m3", "f32", window(13, max_exp_floor=120), "e8m13", 16, rounding="rz"),
    "single-floored-low": odd("e4m3", "f32", window(13, max_exp_floor=-140), "e8m13", 16, rounding="rz"),
    # 32-bit lanes, finished in binary32: to odd, of all bits and of some; sums of 31 bits less a little; in formats of
    # their own exponents, and without subnormals.
    "single-odd": odd("e4m3", "none", window(26, "jam"), "f32", 8, k=8, chain="none", rounding="rto"),
    "single-odd-short": odd("e5m2", "bf16", window(24), "e8m13", 8, k=24, rounding="rto"),
    "single-31-bits": odd("e4m3", "f32", window(25), "f32", 16, rounding="rz", convert="f16"),
    "single-f16": odd("f16", "f16", window(23), "f16", 4, tiny="positive"),
    "single-saturate": odd("f16", "e5m2", window(22), "e4m3", 4, rounding="rna", overflow="saturate"),
    "single-dl": odd("hfp8-e5m2", DL, window(20), DL, 8, rounding="ru", overflow="nan"),
    # Two sums of 32-bit lanes, of half the products each.
    "halves": odd("e4m3", "f32", window(27), "f32", 16, rounding="rz"),
    "halves-jam": odd("e5m2", "bf16", window(27, "jam"), "f32", 15, rounding="rto"),
    "halves-floor": odd("e4m3", "f32", window(27, "floor"), "f32", 13),
    # Scaled sums of subgroups.
    "scaled-floor": odd(
        "e2m3", "f32", subgroups(4, 12, "floor"), "f16", 8, **scaled("subgroup", ("e4m3", 4), ("e8m0", 8))
    ),
    "scaled-bare": odd(
        ("mxint8", "e2m1"), "none", subgroups(8, 17, cancelled="count", max_exp_floor=2), "bf16", 16, k=32,
        rounding="rna", **scaled("subgroup", ("ue4m3", 8), ("ue4m3", 16)),
    ),
    "scaled-saturate": odd(
        "e3m2", "bf16", subgroups(2, 7, cancelled="count"), "e4m3", 6, overflow="saturate", tiny="positive",
        **scaled("subgroup", ("e8m0", 6), ("e4m3", 2)),
    ),
    # Late addends in windows, of one window of products and of two.
    "late-limited": odd(
        "bf16", "bf16", window(20, "jam", product_limit=8), "bf16", 6, rounding="rz",
        **windowed(24, 20, "floor", zero_addend="count", total_bits=19),
    ),
    "late-16": odd(
        "e4m3", "e4m3", window(9), "f16", 8, overflow="saturate",
        **windowed(7, 12, "truncate", drop_below=9, zero_addend="count"),
    ),
    "late-halves": odd(
        "e5m2", "f32", even_odd(fraction_bits=21, lost="floor", combine={"fraction_bits": 19, "lost": "truncate"}),
        "f32", 12, **windowed(26, 24, "floor", drop_below=25, total_bits=22),
    ),
    # 16-bit lanes as of ada-mma-e4m3-f16; windows narrower than the products.
    "bits-0": odd("e4m3", "f32", window(0), "f32", 16),
    "bits-1": odd("e5m2", "f16", window(1), "f16", 13),
    "bits-2": odd(("e4m3", "e5m2"), "none", window(2), "e5m2", 16),
    "bits-3": odd("e2m3", "bf16", window(3), "bf16", 15, tiny="positive", **promoted(15, "bf16", "rz")),
    "bits-2-subnormal": odd("e4m3", "f32", window(2), "f16", 16),
    "floored-bare": odd(
        "e4m3", "none", window(11, max_exp_floor=-4), "f32", 16, k=16, chain="none", rounding="rz", **mx(16, 16)
    ),
    "narrow-scaled": odd("e4m3", "f32", window(11), "f32", 16, **mx(16, 32)),
    "narrow-tf32": odd("e4m3", "tf32", window(9, max_exp_floor=5), "tf32", 14, subnormals="flush", overflow="nan"),
    "narrow-fnuz": odd("e5m2fnuz", "e5m2fnuz", window(8), "e5m2fnuz", 16, overflow="nan"),
    "narrow-fma": odd(
        "e5m2", "f32", window(12), "f16", 16, **scaled("promotion", ("f32", 32), ("f32", 32)),
        **promoted(32, "f32", "rd", "fma"),
    ),
    # 16-bit lanes, exponents of 16 bits.
    "far": odd(("bf16", "e2m1"), "f32", window(10), "f16", 8),
    "far-saturate": odd(("e2m1", "bf16"), "bf16", window(9), "e4m3", 5, overflow="saturate"),
    "far-dl": odd((DL, "e4m3"), "f32", window(13), "f32", 8),
    "far-e6m2": odd((E6M2, "e5m2"), "f32", window(12), "f32", 8, **mx(8, 8)),
    # 32-bit lanes, floor.
    "floor": odd("e4m3", "f32", window(20, "floor"), "f16", 8, rounding="rd"),
    "floor-wide": odd("e5m2", "f16", window(26, "floor"), "f16", 8, rounding="rd", subnormals="flush", overflow="nan"),
    "floor-narrow": odd("e4m3", "bf16", window(2, "floor"), "bf16", 5, rounding="rd", **promoted(10, "f32", "rna")),
    "floor-late": odd("e5m2", "f32", window(9, "floor"), "f32", 8, rounding="rd", **late("f16", "rto")),
    "floor-scaled": odd("e2m1", "f32", window(22, "floor", max_exp_floor=-30), "f32", 8, rounding="rd", **mx(8, 8)),
    # 32-bit lanes, rounded up.
    "ceil": odd("e4m3", "f32", window(20, "ceil"), "f16", 8, rounding="ru"),
    "ceil-narrow": odd("e5m2", "bf16", window(2, "ceil"), "bf16", 5, rounding="rd", **promoted(10, "f32", "rna")),
    # 32-bit lanes, jam.
    "jam": odd("e4m3", "f32", window(20, "jam"), "f16", 8, rounding="ru"),
    "jam-narrow": odd("e5m2", "bf16", window(1, "jam"), "f32", 8, rounding="ru", tiny="positive"),
    "jam-fixed": odd("mxint8", "f16", window(21, "jam"), "f16", 8, rounding="ru", **mx(16, 8)),
    "jam-promoted": odd("e4m3", "f16", window(12, "jam"), "f16", 6, rounding="ru", **promoted(6, "f16", "ru")),
    # 32-bit lanes, to nearest with ties away, to a format without subnormals.
    "bare": odd("e4m3", NEARBY, window(20), NEARBY, 8, rounding="rna", overflow="nan"),
    "bare-promoted": odd("e5m2", NEARBY, window(21), NEARBY, 6, rounding="rna", overflow="nan", **promoted(12, "f32")),
    # 32-bit lanes, exponents of 16 bits, as of blackwell-mma-bf16-f32.
    "many-far": odd("bf16", "f32", window(20), "f32", 16, rounding="rz"),
    "many-far-13": odd("bf16", "bf16", window(19), "bf16", 13, rounding="rz", overflow="saturate"),
    # 32-bit lanes, 5 to 8 of them, to nearest even, as of ampere-mma-f16-f16.
    "nearest-ordered": odd("e4m3", "f16", window(20), "f16", 8, k=16, order=order(2, [1], [0])),
    "nearest-emulated": odd(
        "e4m3", "f16", window(24), "f16", 8, k=16, convert="f16", nan=0x7E00, order=order(4, [0, 3], [2, 1]),
        **late("f16", "rz"),
    ),
    "nearest-daz": odd("f16", "f16", window(20), "f16", 5, daz=True, overflow="saturate"),
    "nearest-e4m3": odd("e5m2", "f32", window(18), "e4m3", 8, overflow="nan", tiny="positive"),
    "nearest-promoted": odd("f16", "f16", window(20), "f16", 6, subnormals="flush", **promoted(12, "f32", "ru")),
    "nearest-chunks": odd("f16", "bf16", window(21), "bf16", 8, nan="any", **promoted(8, "bf16")),
    # Sums of eight products of up to 49 * 2^23: above 2^31, below 2^32.
    "nearest-brim": odd("e5m2", "f32", window(27), "f32", 8),
    # And jammed and to odd, as of rvbna-e4m3-f32-n8.
    "odd-brim": odd("e5m2", "f32", window(27, "jam"), "f32", 8, rounding="rto"),
    "odd-saturate": odd("e4m3", "e4m3", window(17, "jam"), "e4m3", 6, rounding="rto", overflow="saturate"),
}  # fmt: skip
# 62 bits of a sum, and what only the kernel without vectors has.
FOR_SCALARS: dict[str, Mapping] = {
    "brim-jam": odd("e4m3", "f32", window(55, "jam"), "f32", 5, rounding="rz"),
    "brim-sticky": odd("e4m3", "f32", window(55, "sticky"), "f32", 5, rounding="ru"),
    "brim-rne": odd("f16", "f32", window(55, "rne", zero="ieee"), "f32", rounding="ru"),
    "brim-64": odd("e5m2", "f32", window(51, "rna"), "f32", 64),
    "brim-integers": odd((INT8, INT8), "f32", window(42), "f32", 8),
    "lanes-33": odd("e4m3", "f32", window(13), "e8m13", 33, rounding="rz"),
    "lanes-64-floor": odd("e2m1", "f16", window(3, "floor"), "f16", 64),
    "rne-0": odd("e4m3", "f16", window(0, "rne"), "f16", 5, rounding="rto"),
    "rna-1": odd("e5m2", "f32", window(1, "rna"), "f32", 8),
    "count": odd("bf16", "f32", window(9, zero_terms="count", max_exp_floor=-250), "f32", 3),
    "count-late": odd("bf16", "f16", window(8, zero_terms="count"), "f16", 3, **windowed(9, 4, "rna")),
    "late-subnormal": odd("e2m1", "f16", window(6), "f32", **windowed(20, 3, "truncate")),
    "late-signed": odd("e4m3", "f16", window(6, zero="ieee"), "f16", 3, **windowed(9, 9, "floor")),
    "late-flushed": odd("e5m2", "f16", window(9), "f16", 16, **late("f16", "rne", flush=True)),
    "limited-subgroups": odd(
        "e2m1", "f32", subgroups(2, 9, product_limit=3), "f32", 8, **scaled("subgroup", ("ue4m3", 4), ("e8m0", 8)),
    ),
    "blocks": odd("e4m3", "f32", window(13), "e8m13", 8, rounding="rz", **mx(2, 4)),
}  # fmt: skip
