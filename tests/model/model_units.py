"""The units that the model is tested with: every preset, and odd ones; and operands for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from built_presets import one_of_each, one_of_each_family
from model.model_odd_sums import ODD_SUMS
from model.model_witness import FORMS, Witness

import hwsim
import hwsim.model
from hwsim.model.arrays import definition_of
from hwsim.spec import Unit, presets
from hwsim.spec.catalog import PRESETS

E8M0 = {"format": "e8m0"}


def spec(
    a: str = "e4m3",
    b: str = "e4m3",
    addend: str = "f32",
    lanes: int = 5,
    k: int | None = None,
    bits: int = 13,
    lost: str = "truncate",
    result: str = "f32",
    rounding: str = "rz",
    **more: Any,
) -> dict[str, Any]:
    """A unit's mapping, as its YAML file holds it. more: other keys of any part, or top-level ones."""

    def taken(*keys: str) -> dict[str, Any]:
        return {key: more.pop(key) for key in keys if key in more}

    top = taken("scale", "promotion", "late")
    late = {"addend": "late"} if "late" in top else {}
    return {
        "unit": "odd",
        "operands": {"a": a, "b": b, "addend": addend, **taken("convert", "daz")},
        "instruction": {"k": k or lanes, "lanes": lanes, "chain": "addend", **taken("chain", "order", "start")},
        "sum": {
            "method": "aligned", "fraction_bits": bits, "lost": lost, **late,
            **taken("zero_terms", "max_exp_floor", "zero"),
        },
        "result": {"format": result, "rounding": rounding, **more},
        **top,
    }  # fmt: skip


def e8m0_scales(block_a: int, block_b: int) -> dict[str, Any]:
    """Shared E8M0 scales."""
    return {"a": {**E8M0, "block": [1, block_a]}, "b": {**E8M0, "block": [block_b, 1]}}


def late(fmt: str, rounding: str) -> dict[str, Any]:
    """The keys of a unit that adds its addend late."""
    return {"start": "zero", "late": {"operation": "add", "format": fmt, "rounding": rounding}}


def order(modulo: int, *groups: list[int]) -> dict[str, Any]:
    """Which products form a group."""
    return {"modulo": modulo, "groups": list(groups)}


ODD = {
    "floor-f16-rne": spec("e5m2", "e4m3", "f16", k=10, bits=7, lost="floor", result="f16", rounding="rne"),
    "jam-rto": spec(
        addend="none", lanes=16, bits=27, lost="jam", rounding="rto", nan=0x7FC00000, overflow="infinity", chain="none"
    ),
    "rne-bf16-ru": spec(addend="bf16", bits=10, lost="rne", result="bf16", rounding="ru"),
    "rna-e5m2-rd": spec("e5m2", "e5m2", "e5m2", bits=6, lost="rna", result="e5m2", rounding="rd", overflow="saturate"),
    "e4m3-nan": spec(addend="f16", bits=9, result="e4m3", rounding="rne", overflow="nan"),
    "e4m3-saturate": spec(addend="none", bits=5, lost="floor", result="e4m3", rounding="rto", overflow="saturate"),
    "e5m2-infinity": spec("e5m2", "e4m3", "f32", bits=11, result="e5m2", rounding="rna", overflow="infinity"),
    "f16-saturate": spec("e5m2", "e5m2", "f16", lanes=3, bits=20, result="f16", rounding="rd", overflow="saturate"),
    "f16-nan": spec("e5m2", "e5m2", "f16", lanes=3, bits=20, result="f16", rounding="ru", overflow="nan"),
    "no-fraction": spec("e3m2", "e2m3", "f16", lanes=4, bits=0, lost="rne", result="f16", rounding="rne"),
    "wide": spec("e5m2", "e4m3", "f32", lanes=1, bits=256, rounding="rne"),
    "promoted-f16": spec(
        addend="f16", bits=8, result="f16", rounding="rne", promotion={"interval": 10, "format": "f32"}
    ),
    "promoted-bare": spec(
        addend="none", bits=13, result="e8m13", promotion={"interval": 5, "format": "f32", "rounding": "rne"}
    ),
    "promoted-rd": spec(
        bits=13, result="e8m13", promotion={"interval": 10, "format": "f32", "rounding": "rd"}
    ),
    "blocks-shorter": spec(
        "e5m2", "e2m1", "f16", lanes=8, bits=14, lost="floor", result="f16", rounding="rne", overflow="saturate",
        scale=e8m0_scales(4, 2),
    ),
    "blocks-longer": spec(
        "mxint8", "e4m3", "f32", lanes=4, bits=25, lost="jam", rounding="ru", scale=e8m0_scales(8, 16), tiny="positive"
    ),
    "f16-factors": spec("f16", "bf16", "f32", lanes=4, bits=24, rounding="rz"),
    "tf32-factors": spec("tf32", "tf32", "tf32", lanes=4, bits=24, result="tf32", rounding="rne"),
    "emulated": spec(
        "e4m3", "e5m2", "f16", lanes=4, k=8, bits=6, result="f16", rounding="rne", nan=0x7E00, convert="f16",
        order=order(4, [0, 1], [2, 3]), **late("f16", "rne"),
    ),
    "emulated-backwards": spec(
        "e5m2", "e4m3", "f32", lanes=2, k=6, bits=9, lost="floor", result="e8m13", convert="bf16",
        order=order(3, [2], [0], [1]), **late("bf16", "ru"),
    ),
    "late-sequential": spec("e4m3", "e4m3", "bf16", lanes=3, k=6, bits=8, zero_terms="count", **late("f16", "rd")),
    "ordered-chain": spec("e4m3", "e4m3", "f32", lanes=3, k=6, bits=8, order=order(2, [1], [0])),
    "ordered-promoted": spec(
        lanes=2, k=4, bits=9, result="e8m13", order=order(2, [1], [0]), promotion={"interval": 6, "format": "f32"}
    ),
    "ordered-blocks": spec(
        "e2m1", "e4m3", "f32", lanes=4, k=8, bits=9, order=order(4, [3, 0], [1, 2]), scale=e8m0_scales(4, 2),
        zero_terms="count",
    ),
    "bare-from-zero": spec(
        addend="none", lanes=3, k=9, bits=7, result="f16", rounding="rne", start="zero", chain="none", zero="ieee"
    ),
    "converted": spec("e4m3", "e4m3", "none", lanes=4, bits=4, convert="f16"),
    "daz": spec("e5m2", "e4m3", "f32", bits=20, rounding="rne", daz=True),
    "daz-converted": spec("e4m3", "e5m2", "f32", bits=16, convert="f16", daz=True),
    "fixed-converted": spec(
        "mxint8", "e5m2", "f32", lanes=4, bits=9, lost="jam", convert="f16", rounding="ru", zero_terms="count"
    ),
    "zeros-count": spec("e5m2", "e4m3", "f16", lanes=2, bits=4, result="f16", rounding="rne", zero_terms="count"),
    "zeros-count-promoted": spec(
        bits=8, result="e8m13", zero_terms="count", promotion={"interval": 10, "format": "f32"}, daz=True
    ),
    "floored": spec(bits=9, lost="rna", rounding="rne", max_exp_floor=3),
    "floored-count": spec("e5m2", "e5m2", "f16", bits=6, result="f16", max_exp_floor=-20, zero_terms="count"),
    "ieee-zero": spec("e2m1", "e2m1", "f16", lanes=2, bits=8, result="f16", rounding="rne", zero="ieee"),
    "ieee-zero-rd": spec("e2m1", "e2m1", "f16", lanes=2, bits=8, result="f16", rounding="rd", zero="ieee"),
    "flush-signed": spec("e5m2", "e5m2", "f16", bits=16, result="f16", rounding="rne", subnormals="flush"),
    "flush-positive": spec(
        "e5m2", "e5m2", "none", bits=16, result="f16", rounding="rd", subnormals="flush", tiny="positive"
    ),
    "nan-any": spec("e5m2", "e4m3", "f16", bits=9, result="f16", rounding="rne", nan="any"),
    **ODD_SUMS,
}  # fmt: skip


def mapping(name: str) -> dict[str, Any]:
    """The plain mapping of a preset or an odd unit."""
    if name in ODD:
        return ODD[name]
    return shipped()[name]


@cache
def shipped() -> dict[str, dict[str, Any]]:
    """The plain mappings of all presets: what the members of a family share, with what each has of its own."""
    families = [family for path in PRESETS.glob("*.yaml") for family in yaml.safe_load_all(path.read_text())]
    return {
        name: merged(family.get("shared", {}), own) for family in families for name, own in family["members"].items()
    }


def merged(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """A member's keys; of a part that both have, the keys of both, its own first."""
    parts = {key: merged(shared[key], own[key]) for key in shared.keys() & own.keys() if isinstance(own[key], dict)}
    return {**shared, **own, **parts}


def unit(name: str) -> Unit:
    """The preset or odd unit of that name."""
    return Unit.model_validate(ODD[name]) if name in ODD else hwsim.load_unit(name)


# One preset of each arithmetic, and the odd units.
NAMES = [*one_of_each(presets()), *ODD]
# Of these, those that have every rule and every factor; the soak has all.
ALWAYS = {*one_of_each_family(presets()), *ODD}


class Case(NamedTuple):
    """Operands of one dot product: codes, and scales a code a block."""

    a: list[int]
    b: list[int]
    c: int
    scale_a: list[int]
    scale_b: list[int]


def codes(random: np.random.Generator, name: str, count: int, profile: str) -> list[int]:
    """Codes of a format. profile: `any` of them; `finite` middling, `small` or `large` numbers; `sparse`: few."""
    form = FORMS[name]
    used = form.container - max(form.padding, 0) if form.top not in ("fixed", "power") else form.container
    padding = form.container - used
    sign = 1 << used - 1
    if form.top == "power" or not form.signed:
        return random.integers(0, 1 << used, count).tolist()  # type: ignore[no-any-return]
    if profile == "any" or form.top == "fixed":
        drawn = random.integers(0, 2 * sign, count)
    else:
        low, high = {"small": (0, sign // 4), "large": (3 * sign // 4, sign), "sparse": (0, sign)}.get(
            profile, (sign // 3, 2 * sign // 3)
        )
        drawn = random.integers(low, high, count) | random.integers(0, 2, count) * sign
    if profile == "sparse":
        drawn = np.where(random.random(count) < 0.7, drawn & sign, drawn)
    return [int(code) << padding for code in drawn]


PROFILES = ("any", "finite", "small", "large", "sparse", "cancel", "beside")


def cases(name: str, count: int, seed: int) -> Iterator[Case]:
    """Random operands of every profile, one to four groups long, tails included."""
    random = np.random.default_rng([seed, *name.encode()])
    witness = Witness(mapping(name))
    longest = 4 if not witness.promotion else 2 * witness.promotion["interval"] // witness.lanes + 1
    if mapping(name)["instruction"].get("chain") == "none":
        longest = witness.k // witness.lanes
    for index in range(count):
        profile = PROFILES[index % len(PROFILES)]
        k = int(random.integers(1, longest * witness.lanes + 1))
        if witness.blocks:
            block = int(np.lcm(*witness.blocks))
            k = -(-k // block) * block
        drawn = {"cancel": "finite", "beside": "small"}.get(profile, profile)
        a, b = codes(random, witness.a, k, drawn), codes(random, witness.b, k, drawn)
        c = addend(random, witness, index)
        if profile == "cancel":  # products that take one another out
            half = k // 2
            a[half : 2 * half] = a[:half]
            b[half : 2 * half] = [negated(witness.b, code) for code in b[:half]]
        if profile == "beside":  # zeros of large reference exponents beside small products
            a[::3], b[::3], c = [0] * len(a[::3]), codes(random, witness.b, len(b[::3]), "large"), 0
        yield Case(a, b, c, *scales(random, witness, k, index))


def addend(random: np.random.Generator, witness: Witness, index: int) -> int:
    """An addend: zeros of both signs, any code, numbers near the products, subnormals."""
    if witness.c is None:
        return 0
    form = FORMS[witness.c]
    sign = 1 << form.container - 1
    if form.top == "fixed":
        return int(random.integers(0, 2 * sign)) if index % 3 else int(random.choice([0, sign - 1, sign, 2 * sign - 1]))
    kind = index // len(PROFILES) % 5
    if kind == 0:
        return int(random.choice([0, sign]))
    if kind == 1:
        return codes(random, witness.c, 1, "any")[0]
    if kind == 2:
        return codes(random, witness.c, 1, "small")[0] & (sign | (1 << form.fraction_bits) - 1 << form.padding)
    near = (form.bias + int(random.integers(-12, 13))) % (2 * form.bias)
    frac = int(random.integers(0, 1 << form.fraction_bits))
    return (near << form.fraction_bits | frac) << form.padding | int(random.integers(0, 2)) * sign


def scales(random: np.random.Generator, witness: Witness, k: int, index: int) -> tuple[list[int], list[int]]:
    """Shared scales: near one, any, and sums at the ends of binary32's exponent; a NaN now and then."""
    if witness.blocks is None or witness.scale_formats is None:
        return [], []
    kind = index // len(PROFILES) % 4
    middle = {0: 127, 1: 127, 2: int(random.integers(48, 66)), 3: 189}[kind]
    drawn = []
    for block, name in zip(witness.blocks, witness.scale_formats, strict=True):
        count = k // block
        if name == "e8m0":
            near = np.clip(middle + random.integers(-6, 7, count), 0, 254)
            drawn.append(random.integers(0, 255, count).tolist() if kind == 1 else near.tolist())
        else:
            drawn.append([scale(random, name, kind) for _ in range(count)])
    if random.random() < 0.05:
        name = witness.scale_formats[0]
        drawn[0][-1] = 255 if name == "e8m0" else FORMS[name].nan
    return drawn[0], drawn[1]


def scale(random: np.random.Generator, name: str, kind: int) -> int:
    """The code of a scale that is a float: near one, any, subnormal or zero, large."""
    form = FORMS[name]
    fraction = int(random.integers(0, 1 << form.fraction_bits))
    top = (1 << form.exponent_bits) - 1
    biased = {0: form.bias + int(random.integers(-3, 4)), 1: int(random.integers(0, top + 1)), 2: 0, 3: top - 1}[kind]
    if kind == 2 and random.random() < 0.4:
        fraction = 0
    sign = int(random.integers(0, 2)) << form.container - 1 if form.signed else 0
    return (biased << form.fraction_bits | fraction) << form.padding | sign


def run(name: str | Unit, given: list[Case]) -> list[int]:
    """hwsim.model.dot of every case, as result codes; one call for all cases of one length."""
    used = unit(name) if isinstance(name, str) else name
    results = [0] * len(given)
    for k in {len(case.a) for case in given}:
        chosen = [index for index, case in enumerate(given) if len(case.a) == k]
        a, b = (np.array([given[index][side] for index in chosen]) for side in (0, 1))
        c = None if used.operands.addend is None else np.array([given[index].c for index in chosen])
        shared = [np.array([given[index][side] for index in chosen]) for side in (3, 4)] if used.scale else [None, None]
        out = hwsim.model.dot(used, a, b, c, *shared)
        bits = out.view({2: np.uint16, 4: np.uint32}[out.itemsize]) if out.dtype.kind == "f" else out
        for index, code in zip(chosen, bits.tolist(), strict=True):
            results[index] = code
    return results


def expected(name: str, given: list[Case]) -> list[int]:
    """The witness's results."""
    witness = Witness(mapping(name))
    return [witness.dot(*case) for case in given]


def negated(name: str, code: int) -> int:
    """The code of a number with its sign turned round."""
    form = FORMS[name]
    if form.top == "fnuz" and not code & 0x7F:
        return code
    return -code % 256 if form.top == "fixed" else code ^ 1 << form.container - 1


FEW = 24  # cases that a mutant is tried on before more of them


def assert_right(name: str, given: list[Case]) -> tuple[list[Case], list[int]]:
    """The cases and the witness's results, which are the model's too."""
    want = expected(name, given)
    assert run(name, given) == want, "without a mutant"
    return given, want


def assert_caught(
    name: str,
    given: list[Case],
    want: list[int],
    mutate: Callable[[pytest.MonkeyPatch], None],
    patch: pytest.MonkeyPatch,
) -> None:
    """With the mutant the model is wrong about some of these cases. The first ones that tell are enough."""
    definition_of.cache_clear()
    mutate(patch)
    try:
        # Directed cases are last, and few mutants need them.
        parts = [slice(at, at + FEW) for at in range(0, len(given), FEW)]
        caught = any(run(name, given[part]) != want[part] for part in parts)
    finally:
        patch.undo()
    assert caught, f"none of {len(given)} cases tells"
