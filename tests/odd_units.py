"""Units that no preset is like: each has something odd, which its name says. `unit_keys.py` writes them."""

from __future__ import annotations

from functools import cache

from odd_for_kernels import FOR_KERNELS, FOR_SCALARS, FOR_VECTORS
from unit_keys import (
    BLOCKS,
    COARSE,
    DL,
    E4M3_FINITE,
    E5M2_FINITE,
    FINE,
    FIXED43,
    FIXED73,
    FIXED100,
    I32,
    INT8,
    NEARBY,
    Mapping,
    chained,
    even_odd,
    exact_blocks,
    exact_sum,
    late,
    mx,
    odd,
    order,
    own_windows,
    promoted,
    scaled,
    subgroups,
    window,
    windowed,
)

from hwsim.spec import Unit, load_unit

# Every rule that presets do not have, with few lanes: what the definition is tested with, and what repeats it.
ODD: dict[str, Mapping] = {
    "ones-complement": odd(("e4m3", "e5m2"), "f32", window(12, "ones-complement"), "f32", 8, k=16, rounding="rz"),
    "ones-complement-f16": odd(("e5m2", "e2m1"), "f16", window(3, "ones-complement"), "f16", 3, k=6),
    "ones-complement-late": odd(
        "e5m2", "f32", window(9, "ones-complement"), "f32", 8, **late("f16", "rto"),
    ),
    "ceil-f16-rd": odd(("e5m2", "e4m3"), "f16", window(7, "ceil"), "f16", 5, k=10, rounding="rd"),
    "ceil-late": odd("e4m3", "f32", window(9, "ceil"), "f16", 3, **windowed(8, 10, "ceil", total_bits=6)),
    "ceil-halves": odd(
        "e4m3", "f32", even_odd(lost="ceil", combine={"fraction_bits": 5, "lost": "ceil"}), "f32", 6,
        **late("f32", "rna"),
    ),
    "sticky-f16": odd(("e4m3", "e5m2"), "f32", window(9, "sticky"), "f16", 5, k=10),
    "sticky-short": odd("e5m2", "f16", window(3, "sticky"), "bf16", 3, rounding="rd", overflow="ieee"),
    "sticky-bare": odd("e5m2", DL, window(7, "sticky"), DL, 4, rounding="rto", overflow="nan"),
    "sticky-counted": odd(
        ("e5m2", "e2m1"), "bf16", window(6, "sticky", zero_terms="count", zero="ieee"), "e5m2", rounding="ru",
    ),
    "sticky-subgroups": odd(
        ("e2m1", "e4m3"), "f32", subgroups(2, 6, "sticky"), "f16", 6, **scaled("subgroup", ("e4m3", 2), ("e8m0", 2)),
    ),
    "sticky-late": odd("e4m3", "f32", window(5, "sticky"), "e5m2", 3, k=6, **late("f16", "rd")),
    "cut": odd(("e4m3", "e5m2"), "f32", window(9, cut={"bits": 2}), "f16", 4, k=8),
    "cut-counted": odd(
        "e5m2", "bf16",
        window(6, "sticky", zero_terms="count", zero="ieee", cut={"bits": 3, "lost": "floor"}), "e5m2", 3,
        rounding="ru",
    ),
    "cut-late": odd(
        "e4m3", "f32", window(9, "floor", cut={"bits": 4, "lost": "rna"}), "f16", **windowed(8, 10, "ceil"),
    ),
    "floor-f16-rne": odd(("e5m2", "e4m3"), "f16", window(7, "floor"), "f16", 5, k=10),
    "jam-rto": odd(
        "e4m3", "none", window(27, "jam"), "f32", 16, rounding="rto", nan=0x7FC00000, overflow="infinity", chain="none",
    ),
    "rne-bf16-ru": odd("e4m3", "bf16", window(10, "rne"), "bf16", 5, rounding="ru"),
    "rna-e5m2-rd": odd("e5m2", "e5m2", window(6, "rna"), "e5m2", 5, rounding="rd", overflow="saturate"),
    "e4m3-nan": odd("e4m3", "f16", window(9), "e4m3", 5, overflow="nan"),
    "e4m3-saturate": odd("e4m3", "none", window(5, "floor"), "e4m3", 5, rounding="rto", overflow="saturate"),
    "e5m2-infinity": odd(("e5m2", "e4m3"), "f32", window(11), "e5m2", 5, rounding="rna", overflow="infinity"),
    "f16-saturate": odd("e5m2", "f16", window(20), "f16", 3, rounding="rd", overflow="saturate"),
    "f16-nan": odd("e5m2", "f16", window(20), "f16", 3, rounding="ru", overflow="nan"),
    "own-nan": odd("e5m2", "f16", window(20), "f16", 3, overflow="nan", nan=0x7E00),
    "own-nan-e4m3": odd("e5m2", "none", window(9), "e4m3", 3, overflow="ieee", nan=0xFF),
    "ieee-rz": odd("e5m2", "f16", window(20), "f16", 3, rounding="rz", overflow="ieee"),
    "ieee-ru-e4m3": odd("e4m3", "e4m3", window(9), "e4m3", 5, rounding="ru", overflow="ieee"),
    "ieee-rd": odd(("e5m2", "e4m3"), "e5m2", window(8, "floor"), "e5m2", 5, rounding="rd", overflow="ieee"),
    "ieee-jam": odd("e5m2", "none", window(9, "jam"), "e5m2", 4, rounding="rto", overflow="ieee"),
    "propagates": odd("e5m2", "e5m2", window(9), "e5m2", 4, overflow="propagate"),
    "propagates-e4m3": odd(("e4m3", "e5m2"), "f16", window(9), "e4m3", 3, rounding="ru", overflow="propagate"),
    "no-fraction": odd(("e3m2", "e2m3"), "f16", window(0, "rne"), "f16"),
    "wide": odd(("e5m2", "e4m3"), "f32", window(256), "f32", 1),
    "promoted-f16": odd("e4m3", "f16", window(8), "f16", 5, **promoted(10, "f32")),
    "promoted-bare": odd("e4m3", "none", window(13), "e8m13", 5, rounding="rz", **promoted(5, "f32")),
    "promoted-rd": odd("e4m3", "f32", window(13), "e8m13", 5, rounding="rz", **promoted(10, "f32", "rd")),
    "blocks-shorter": odd(("e5m2", "e2m1"), "f16", window(14, "floor"), "f16", 8, overflow="saturate", **mx(4, 2)),
    "blocks-longer": odd(
        ("mxint8", "e4m3"), "f32", window(25, "jam"), "f32", rounding="ru", tiny="positive", **mx(8, 16),
    ),
    "f16-factors": odd(("f16", "bf16"), "f32", window(24), "f32", rounding="rz"),
    "tf32-factors": odd("tf32", "tf32", window(24), "tf32"),
    "emulated": odd(
        ("e4m3", "e5m2"), "f16", window(6), "f16", k=8, convert="f16", nan=0x7E00, order=order(4, [0, 1], [2, 3]),
        **late("f16", "rne"),
    ),
    "emulated-backwards": odd(
        ("e5m2", "e4m3"), "f32", window(9, "floor"), "e8m13", 2, k=6, rounding="rz", convert="bf16",
        order=order(3, [2], [0], [1]), **late("bf16", "ru"),
    ),
    "late-sequential": odd(
        "e4m3", "bf16", window(8, zero_terms="count"), "f32", 3, k=6, rounding="rz", **late("f16", "rd"),
    ),
    "ordered-chain": odd("e4m3", "f32", window(8), "f32", 3, k=6, rounding="rz", order=order(2, [1], [0])),
    "ordered-promoted": odd(
        "e4m3", "f32", window(9), "e8m13", 2, k=4, rounding="rz", order=order(2, [1], [0]), **promoted(6, "f32"),
    ),
    "ordered-blocks": odd(
        ("e2m1", "e4m3"), "f32", window(9, zero_terms="count"), "f32", k=8, rounding="rz",
        order=order(4, [3, 0], [1, 2]), **mx(4, 2),
    ),
    "bare-from-zero": odd("e4m3", "none", window(7, zero="ieee"), "f16", 3, k=9, chain="none", start="zero"),
    "converted": odd("e4m3", "none", window(4), "f32", rounding="rz", convert="f16"),
    "daz": odd(("e5m2", "e4m3"), "f32", window(20), "f32", 5, daz=True),
    "daz-converted": odd(("e4m3", "e5m2"), "f32", window(16), "f32", 5, rounding="rz", convert="f16", daz=True),
    "fixed-converted": odd(
        ("mxint8", "e5m2"), "f32", window(9, "jam", zero_terms="count"), "f32", rounding="ru", convert="f16",
    ),
    "zeros-count": odd(("e5m2", "e4m3"), "f16", window(4, zero_terms="count"), "f16", 2),
    "zeros-count-promoted": odd(
        "e4m3", "f32", window(8, zero_terms="count"), "e8m13", 5, rounding="rz", daz=True, **promoted(10, "f32"),
    ),
    "floored": odd("e4m3", "f32", window(9, "rna", max_exp_floor=3), "f32", 5),
    "floored-count": odd("e5m2", "f16", window(6, zero_terms="count", max_exp_floor=-20), "f16", 5, rounding="rz"),
    "ieee-zero": odd("e2m1", "f16", window(8, zero="ieee"), "f16", 2),
    "ieee-zero-rd": odd("e2m1", "f16", window(8, zero="ieee"), "f16", 2, rounding="rd"),
    "flush-signed": odd("e5m2", "f16", window(16), "f16", 5, subnormals="flush"),
    "flush-positive": odd("e5m2", "none", window(16), "f16", 5, rounding="rd", subnormals="flush", tiny="positive"),
    "flush-after": odd("e5m2", "f16", window(16), "f16", 3, subnormals="flush", tininess="after"),
    "flush-before": odd(
        ("e5m2", "f16"), "none", exact_sum(), "f16", 2, rounding="ru", subnormals="flush", tininess="before",
        tiny="positive",
    ),
    "nan-any": odd(("e5m2", "e4m3"), "f16", window(9), "f16", 5, nan="any"),
    "chain-f32": odd("e4m3", "f32", chained("sequential", "f32"), "f32"),
    "chain-f16-mul-add": odd("e5m2", "f16", chained("sequential", "f16", product="rounded"), "f16", 3, k=6),
    "chain-f16-rz": odd("f16", "f32", chained("sequential", "f16", "rz", product="rounded"), "bf16", 2, rounding="rd"),
    "chain-rd": odd(("e4m3", "e5m2"), "none", chained("sequential", "f16", "rd"), "f16", 3, rounding="rd"),
    "window-positive": odd("e5m2", "f16", window(8, zero="ieee"), "f16", 2, rounding="rd", daz=True, zeros="positive"),
    "exact-positive": odd("e4m3", "f16", exact_sum(zero="ieee"), "f32", 3, rounding="rd", zeros="positive"),
    "chain-positive": odd("bf16", "f16", chained("sequential", "f16"), "f16", 3, zeros="positive"),
    "tree-positive": odd(
        "f16", "f32", chained("pairwise", "f32", product="rounded", flush=True), "f32", daz=True, zeros="positive",
    ),
    "late-positive": odd("e5m2", "f16", exact_sum(), "f16", 2, zeros="positive", **late("f16", "rd", flush=True)),
    "chain-flush": odd("e5m2", "f16", chained("sequential", "f16", product="rounded", flush=True), "f16", 3, daz=True),
    "chain-flush-fused": odd("e5m2", "f16", chained("sequential", "f16", "ru", flush=True), "f32", 2),
    "chain-flush-after": odd(
        "e5m2", "f16", chained("sequential", "f16", "ru", flush=True, tininess="after", overflow="saturate"), "f32", 2,
    ),
    "tree-flush-before": odd(
        "bf16", "f32",
        chained("pairwise", "f32", product="rounded", flush=True, tininess="before", overflow="propagate"), "f32", 3,
    ),
    "tree-odd-infinity": odd(
        "bf16", "f32", chained("pairwise", "f32", "rto", product="rounded", flush=True, tininess="before",
        overflow="infinity"), "f32", 2, rounding="rto", daz=True, subnormals="flush", tininess="before",
    ),
    "chain-nan": odd("e5m2", "e5m2", chained("sequential", "e5m2", product="rounded", overflow="nan"), "f16", 2),
    "chain-ieee": odd("e5m2", "f16", chained("sequential", "e5m2", "rd"), "f16", 2, rounding="rz", overflow="ieee"),
    "chain-saturate": odd(
        "e5m2", "e5m2", chained("sequential", "e5m2", "rna"), "e4m3", 2, overflow="saturate", tiny="positive",
    ),
    "chain-bf16-chunks": odd("bf16", "bf16", chained("sequential", "bf16"), "bf16", 1, k=4, **promoted(4, "bf16")),
    "chain-f16-chunks": odd("e4m3", "f16", chained("sequential", "f16"), "f16", 2, **promoted(6, "f16", "rz")),
    "chain-dl-chunks": odd(
        "hfp8-e4m3", DL, chained("sequential", DL, "rna"), DL, 1, k=8, rounding="rna", overflow="nan",
        **promoted(8, DL, "rna"),
    ),
    "chain-dl-mixed": odd(
        ("hfp8-e4m3", "hfp8-e5m2"), DL, chained("sequential", DL, "rna", product="rounded"), DL, 2, rounding="rna",
        overflow="nan", **promoted(4, DL),
    ),
    "chain-dl-saturate": odd("hfp8-e4m3", DL, chained("sequential", DL), DL, 2, overflow="saturate"),
    "chain-bare": odd("e5m2", NEARBY, chained("sequential", NEARBY, "rna"), NEARBY, 2, overflow="nan"),
    "chain-bare-ru": odd(
        ("e4m3", "e5m2"), NEARBY, chained("sequential", NEARBY, "ru"), NEARBY, 3, rounding="rto", overflow="nan",
    ),
    "tree-4": odd("f16", "f32", chained("pairwise", "f32", product="rounded"), "f32"),
    "tree-flush": odd("bf16", "f32", chained("pairwise", "f32", product="rounded", flush=True), "f32", k=8, daz=True),
    "tree-f16-7": odd("e5m2", "f16", chained("pairwise", "f16"), "f16", 7, tiny="positive"),
    "tree-6-rd": odd("e4m3", "none", chained("pairwise", "e5m2", "rd"), "f16", 6, rounding="rz"),
    "tree-chains": odd("f16", "f16", chained("pairwise", "f16", chains=2), "f16", 8),
    "tree-chains-rounded": odd(
        "e5m2", "none", chained("pairwise", "f16", "ru", "rounded", flush=True, tininess="after", chains=3), "f32", 6,
    ),
    "tree-one": odd("e4m3", "f16", chained("pairwise", "e5m2", "rna", product="rounded"), "f16", 1),
    "tree-one-bare": odd("e4m3", "none", chained("pairwise", "e5m2", "rto"), "f16", 1),
    "exact-f32": odd("e5m2", "f32", exact_sum(), "f32", 3),
    "exact-f16-group": odd("f16", "f16", exact_sum(rounded="group"), "f16", k=8),
    "exact-zero": odd("e2m1", "f16", exact_sum(zero="ieee"), "f16", 2, rounding="rd"),
    "exact-e4m3": odd("e4m3", "none", exact_sum(), "e4m3", 5, rounding="ru", overflow="nan"),
    "exact-scaled": odd(("e4m3", "e2m1"), "f32", exact_sum(), "f32", **mx(4, 2)),
    "exact-promoted": odd("e4m3", "f16", exact_sum(), "f16", 2, rounding="rz", **promoted(6, "f32")),
    "exact-ieee": odd("e5m2", "f16", exact_sum(), "f16", 3, rounding="ru", overflow="ieee"),
    "exact-late": odd(
        "e5m2", "f16", exact_sum(), "f16", 3, k=6, daz=True, subnormals="flush", **late("f16", "rne", flush=True),
    ),
    "late-flush-after": odd("bf16", "f16", exact_sum(), "f32", 2, **late("bf16", "rna", flush=True, tininess="after")),
    "late-flush-bf16": odd("bf16", "f16", exact_sum(), "f32", 2, **late("bf16", "rz", flush=True)),
    "integers": odd((INT8, INT8), I32, exact_sum(), I32, overflow="wrap"),
    "integers-saturate": odd(
        (INT8, "mxint8"), INT8, exact_sum(rounded="group"), INT8, 2, rounding="rd", overflow="saturate",
    ),
    # Factors without signs, beside others with them.
    "unsigned": odd(("uint8", INT8), I32, exact_sum(rounded="group"), I32, 3, overflow="saturate"),
    "unsigned-window": odd(("uint4", "e4m3"), "f32", window(9, "floor"), "f16", 3),
    # Neighbours in windows of their own, before the window of the group.
    "pairs": odd("e4m3", "f32", own_windows(2, 6, 25), "f32", 8),
    "pairs-floor": odd(("e5m2", "e4m3"), "f16", own_windows(2, 3, 10, "floor", inner="jam", cancelled="count"), "f16"),
    "pairs-zeros": odd(
        "e4m3", "bf16", own_windows(3, 5, 9, zero_terms="count", zero="ieee", inner="rne"), "bf16", 6, k=12,
        rounding="rd", order=order(12, [0, 1, 2, 9, 10, 11], [3, 4, 5, 6, 7, 8]),
    ),
    "pairs-scaled": odd(
        ("e2m1", "e3m2"), "f32", own_windows(2, 2, 14, "rna", inner="ones-complement", cancelled="count"), "f32",
        **scaled("subgroup", ("ue4m3", 2), ("f16", 4)),
    ),
    "pairs-mx": odd("e4m3", "f32", own_windows(4, 7, 16), "f32", 8, rounding="rz", **mx(2, 8)),
    # Blocks that are summed exactly, and scaled by any number, before the only rounding.
    "exact-blocks": odd("e4m3", "f32", exact_blocks(4), "f32", 8, **scaled("subgroup", ("ue4m3", 4), ("f32", 8))),
    "exact-blocks-group": odd(
        (INT8, INT8), "none", exact_blocks(2, rounded="group", zero="ieee"), "bf16", 6, rounding="ru",
        **scaled("subgroup", ("bf16", 2), ("e8m0", 6)),
    ),
    # Blocks that are summed exactly, scaled or not, and added by rounded additions.
    "tree-blocks": odd("e4m3", "f32", chained("pairwise", "f16", subgroup=BLOCKS), "f32", 8),
    "tree-blocks-scaled": odd(
        ("e4m3", "e2m1"), "none", chained("pairwise", "bf16", "ru", product="rounded", subgroup=BLOCKS), "bf16", 6,
        **scaled("subgroup", ("ue4m3", 2), ("e8m0", 6)),
    ),
    "chain-blocks": odd(
        ("e5m2", INT8), "bf16", chained("sequential", "e8m13", "rz", flush=True, subgroup=BLOCKS), "bf16", 4, **mx(2, 4)
    ),
    # Fixed results of more bits than a word, and with their point outside of them.
    "long-43": odd((E4M3_FINITE, E4M3_FINITE), "none", exact_sum(), FIXED43, overflow="saturate"),
    "long-73": odd((E5M2_FINITE, E5M2_FINITE), FIXED73, exact_sum(), FIXED73, 2, overflow="wrap"),
    "long-100": odd(
        ("e3m2", INT8), FIXED73, exact_sum(rounded="group"), FIXED100, 2, k=4, order=order(4, [3, 0], [1, 2]),
        rounding="rd", overflow="saturate",
    ),
    "long-coarse": odd(
        (E5M2_FINITE, E4M3_FINITE), FINE, exact_sum(rounded="group"), COARSE, 3, rounding="rna", overflow="wrap",
    ),
    "even-odd": odd("e4m3fnuz", "f32", even_odd(), "f32", 6, **windowed(11, 8, "floor", drop_below=6)),
    "even-odd-wide": odd(
        ("e4m3fnuz", "e5m2fnuz"), "f16", even_odd(lost="jam", zero_terms="count"), "f16",
        **windowed(6, 12, "truncate", drop_below=0),
    ),
    "even-odd-add": odd("e5m2", "bf16", even_odd(max_exp_floor=-4), "f16", 3, **late("f32", "rna")),
    "even-odd-bare": odd("e2m1", "none", even_odd(zero="ieee"), "f16", 5, chain="none"),
    "late-window": odd("f16", "f32", window(9, product_limit=20), "f32", **windowed(12, 10, "floor")),
    "late-window-total": odd(
        "f16", "bf16", window(9, "floor"), "f16", 3,
        **windowed(12, 10, "floor", zero_addend="count", total_bits=11, drop_below=10),
    ),
    "late-window-cut": odd(
        ("e5m2", "e4m3"), "f16", window(7, zero="ieee"), "f32", 3,
        **windowed(9, 12, "ones-complement", zero_addend="count", total_bits=4),
    ),
    "even-odd-total": odd("e4m3fnuz", "f32", even_odd(), "f32", 6, **windowed(12, 8, "rne", total_bits=6)),
    "late-window-jam": odd(
        "e4m3", "bf16", window(6, zero="ieee"), "f16", 3, rounding="rd", **windowed(5, 7, "jam", drop_below=3),
    ),
    "product-limit": odd("e5m2", "f16", window(12, product_limit=4), "f16", 3, overflow="saturate"),
    "subgroups": odd("e2m1", "f32", subgroups(2, 9), "f32", **scaled("subgroup", ("ue4m3", 2), ("ue4m3", 4))),
    "subgroups-cancelled": odd(
        "e2m1", "f16", subgroups(4, 9, cancelled="count", max_exp_floor=-14), "f16", 8,
        **scaled("subgroup", ("ue4m3", 4), ("e8m0", 8)),
    ),
    # Both, one and the other of what a low addend changes, beside windows so short that every sum loses bits.
    "subgroups-low": odd(
        "e2m1", "f32", subgroups(4, 7, cancelled="count", low_lanes=2, low_addend="skip"), "f32", 8, k=16,
        **scaled("subgroup", ("ue4m3", 4), ("ue4m3", 8)),
    ),
    "subgroups-low-sums": odd(
        "e2m1", "f16", subgroups(4, 6, "floor", low_lanes=1), "f16", 4, rounding="rne",
        **scaled("subgroup", ("ue4m3", 4), ("e8m0", 4)),
    ),
    "subgroups-low-addend": odd(
        ("e2m3", "e2m1"), "f32",
        subgroups(2, 8, "jam", cancelled="count", low_addend="skip", max_exp_floor=-3), "f32", 4,
        **scaled("subgroup", ("e4m3", 2), ("ue4m3", 4)),
    ),
    "subgroups-e8m0": odd(
        ("e4m3", "e2m1"), "none", subgroups(2, 5, "floor", zero_terms="count"), "f16", 6,
        **scaled("subgroup", ("e8m0", 2), ("ue4m3", 6)),
    ),
    "subgroups-signed": odd(
        "e5m2", "f32", subgroups(2, 7, "rne", zero="ieee"), "f32", **scaled("subgroup", ("e4m3", 2), ("f16", 2)),
    ),
    "scaled-promotion": odd(
        "e4m3", "f32", window(8), "e8m13", 2, rounding="rz", **scaled("promotion", ("f32", 4), ("f32", 8)),
        **promoted(4, "f32", "rne", "fma"),
    ),
    "scaled-promotion-f16": odd(
        "e5m2", "none", chained("sequential", "f16", "rz"), "f16", 2, **scaled("promotion", ("bf16", 2), ("e8m0", 4)),
        **promoted(2, "f16", "rd", "fma"),
    ),
    # What is multiplied first overflows, is subnormal and is rounded, each with scales that bring it back.
    "sum-by-a-first": odd(
        "e2m1", "e5m2", window(4), "e4m3", 2, overflow="nan", **scaled("promotion", ("bf16", 4), ("e8m0", 8)),
        **promoted(4, "f16", "rne", "fma", "a"),
    ),
    "sum-by-b-first": odd(
        "e5m2", "none", chained("sequential", "f16", "rz"), "f16", 2, **scaled("promotion", ("bf16", 2), ("ue4m3", 4)),
        **promoted(2, "f16", "rd", "fma", "b"),
    ),
}  # fmt: skip
# Every rule of the RTL that presets do not have.
IN_RTL: dict[str, Mapping] = {
    "ones-complement-in-rtl": odd(("e4m3", "e5m2"), "f16", window(6, "ones-complement"), "f16", 3),
    "ceil-in-rtl": odd(("e4m3", "e5m2"), "f32", window(6, "ceil"), "f16", 3),
    "sticky-in-rtl": odd(("e4m3", "e5m2"), "f16", window(6, "sticky"), "f16", 3, rounding="ru"),
    "floor-to-f16": odd(("e4m3", "e5m2"), "f32", window(13, "floor"), "f16", 8),
    "jam-5-lanes-f16": odd(("e4m3", "e5m2"), "f32", window(4, "jam"), "f16", 5, rounding="ru", overflow="saturate"),
    "half-factors": odd(("f16", "bf16"), "f16", window(10, "rne"), "bf16", 3, rounding="rd"),
    "one-lane-e5m2": odd(("e4m3", "e5m2"), "f32", window(0, "rna"), "e5m2", 1, rounding="rna", overflow="nan"),
    "no-addend-e4m3": odd(("e3m2", "e2m3"), "none", window(30), "e4m3", 2, k=4, rounding="rto", overflow="saturate"),
    "blocks-in-a-beat": odd("e2m1", "f32", window(20, "jam"), "f16", tiny="positive", **mx(2, 8)),
    "promoted-e4m3-in-f16": odd(
        "e4m3", "f16", window(12), "e4m3", k=8, overflow="saturate", **promoted(8, "f16", "rd"),
    ),
    "promoted-scaled": odd(
        "e4m3", "f32", window(8, "floor"), "f32", rounding="rd", **mx(16, 2), **promoted(4, "f32", "rna"),
    ),
    "ieee-e4m3": odd("e5m2", "f16", window(8), "e4m3", 3, rounding="rd", overflow="ieee", nan=0xFF),
    "ieee-e5m2": odd("e4m3", "f32", window(9), "e5m2", 3, rounding="ru", overflow="ieee"),
    "ieee-rto": odd("e4m3", "none", window(30), "e5m2", 2, k=4, rounding="rto", overflow="ieee"),
    "ieee-e5m2-rz": odd("e5m2", "none", window(6), "e5m2", 2, rounding="rz", overflow="ieee"),
    "propagates-e5m2": odd("e5m2", "e5m2", window(8), "e5m2", 2, rounding="rna", overflow="propagate"),
    # A beat's lanes are of several blocks: two neighbours of one; all of others, where blocks span instructions.
    "ordered-runs": odd(
        "e2m1", "f32", window(13), "f32", k=16, rounding="rz", order=order(8, [0, 1], [4, 5], [2, 3], [6, 7]),
        **mx(2, 8),
    ),
    "ordered-spans": odd("e4m3", "f16", window(9), "f16", k=12, order=order(3, [1], [0], [2]), **mx(8, 4)),
    "padded-tf32": odd("e5m2", "bf16", window(3, "rne"), "tf32", 7, rounding="ru", nan=0x7FC00000),
}  # fmt: skip
# Small, so that they are built, drawn or enumerated fast.
SMALL: dict[str, Mapping] = {
    "tiny": odd("e2m1", "f16", window(6), "f16", 2),
    "tiny-promoted": odd("e2m1", "f16", window(6), "f16", 2, rounding="rz", **promoted(6, "f16")),
    "small-scaled": odd(("e4m3", "e5m2"), "f32", window(20, "jam"), "f16", **mx(4, 4)),
    "tiny-e2m1-f16": odd("e2m1", "f16", window(3), "f16", rounding="rz"),
    "tiny-any-zero": odd("e2m1", "f16", window(3), "f16", zero_sign="any"),
    "tiny-any-nan": odd("e2m1", "f16", window(3), "f16", rounding="rz", nan="any"),
    # Two products and no addend, in a window that cuts off most of the smaller one.
    "tiny-pair": odd("e2m1", "none", window(1), "e3m2", 2, overflow="saturate", chain="none"),
    "tiny-wide": odd("e2m1", "none", window(4), "e3m2", 2, rounding="rz", overflow="saturate", chain="none"),
    # One product and an addend whose range goes beyond the product's.
    "tiny-addend": odd("e2m1", "e3m2", window(2), "e3m2", 1, rounding="rz", overflow="saturate", chain="none"),
    # An even smaller product, so that the addend beside two of them can be enumerated.
    "tiny-both": odd("e2m1", "e3m2", window(2, "jam"), "e4m3", 2, overflow="nan", chain="none"),
    "odd-e4m3-f16": odd("e4m3", "f16", window(13, "jam"), "f16", 5),
    # Partial sums with fewer exponent bits than the register: a zero one is far below its least normal number.
    "f16-in-f32": odd(
        ("e2m3", "e5m2"), "f32", window(1, "floor"), "f16", 2, rounding="rto", **promoted(6, "f32"),
    ),
    "e5m2-in-bf16": odd(
        ("e5m2", "e3m2"), "none", window(9, "jam"), "e5m2", 2, rounding="rz", **promoted(2, "bf16", "rna"),
    ),
    "tiny-5-bits": odd("e2m1", "f16", window(5), "f16", 2, rounding="rz"),
}  # fmt: skip

NAMED = {**ODD, **FOR_KERNELS, **FOR_VECTORS, **FOR_SCALARS, **IN_RTL, **SMALL}
assert len(NAMED) == sum(map(len, (ODD, FOR_KERNELS, FOR_VECTORS, FOR_SCALARS, IN_RTL, SMALL))), "two of one name"


@cache
def unit(name: str) -> Unit:
    """The odd unit or the preset of that name."""
    return Unit.model_validate({**NAMED[name], "unit": name}) if name in NAMED else load_unit(name)


def units_of(group: Mapping) -> dict[str, Unit]:
    """The units of one of the groups above."""
    return {name: unit(name) for name in group}
