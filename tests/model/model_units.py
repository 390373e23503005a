"""The units that the model is tested with: every preset, and odd ones; and operands for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from built_presets import one_of_each, one_of_each_family
from model.model_witness import FORMS, Witness
from model.witness_numbers import Form
from odd_units import NAMED, ODD, unit

import hwsim
import hwsim.model
from hwsim.model.definition import definition_of
from hwsim.spec import Unit, presets
from hwsim.spec.catalog import PRESETS


def mapping(name: str) -> dict[str, Any]:
    """The plain mapping of a preset or an odd unit."""
    return NAMED[name] if name in NAMED else shipped()[name]


@cache
def shipped() -> dict[str, dict[str, Any]]:
    """The plain mappings of all presets: what the members of a family share, with what each has of its own."""
    documents = [document for path in PRESETS.glob("*.yaml") for document in yaml.safe_load_all(path.read_text())]
    families = [document for document in documents if not {"modes", "sparsity"} & document.keys()]
    return {name: merged(family.get("shared", {}), own) for family in families for name, own in members(family).items()}


def members(family: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What each member of a family has of its own: as written, or of every pair of factors and every result."""
    if "members" in family:
        written: dict[str, dict[str, Any]] = family["members"]
        return written
    found = {}
    for a in family["factors"]:
        for b in family["factors"]:
            for result, own in family["results"].items():
                name = family["each"]["unit"].replace("{factors}", a if a == b else a + "x" + b)
                operands = {**own.get("operands", {}), "a": a, "b": b}
                found[name.replace("{result}", result)] = {**own, "operands": operands}
    return found


def merged(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """A member's keys; of a part that both have, the keys of both, its own first."""
    parts = {key: merged(shared[key], own[key]) for key in shared.keys() & own.keys() if isinstance(own[key], dict)}
    return {**shared, **own, **parts}


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
    if used > 63 and form.top == "fixed":
        return [long_code(random, used) for _ in range(count)]
    if used == 64:
        return [of_64_bits(random, form, profile) for _ in range(count)]
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


def long_code(random: np.random.Generator, bits: int) -> int:
    """A code of two's complement: a number of either sign and any length."""
    size = int.from_bytes(random.bytes(bits // 8 + 1), "little") >> int(random.integers(8, bits + 8))
    return (-size if random.integers(0, 2) else size) % (1 << bits)


def of_64_bits(random: np.random.Generator, form: Form, profile: str) -> int:
    """A code of 64 bits, by its exponent: any, or as `codes` says; a third of the fractions are short."""
    low, high = {"any": (0, 2048), "small": (0, 40), "large": (1500, 2047), "sparse": (0, 2047)}.get(
        profile, (990, 1060)
    )
    fraction = int(random.integers(0, 1 << form.fraction_bits)) >> int(random.choice([0, 0, 30]))
    code = int(random.integers(low, high)) << form.fraction_bits | fraction
    return int(random.integers(0, 2)) << 63 | (0 if profile == "sparse" and random.random() < 0.7 else code)


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
        ends = [0, sign - 1, sign, 2 * sign - 1]
        return codes(random, witness.c, 1, "any")[0] if index % 3 else ends[int(random.integers(0, len(ends)))]
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
        a, b = (np.array([given[index][side] for index in chosen], np.uint64) for side in (0, 1))
        c = None if used.operands.addend is None else np.array([given[index].c for index in chosen], object)
        shared = [np.array([given[index][side] for index in chosen]) for side in (3, 4)] if used.scale else [None, None]
        out = hwsim.model.dot(used, a, b, c, *shared)
        bits = out.view(f"u{out.itemsize}") if out.dtype.kind == "f" else out
        for index, code in zip(chosen, bits.tolist(), strict=True):
            results[index] = code
    return results


def expected(name: str, given: list[Case]) -> list[int]:
    """The witness's results."""
    witness = Witness(mapping(name))
    return [witness.dot(*case) for case in given]


def negated(name: str, code: int) -> int:
    """The code of a number with its sign turned round; without signs the same code."""
    form = FORMS[name]
    if form.top == "fnuz" and not code & 0x7F:
        return code
    if form.top == "fixed":
        return -code % (1 << form.container) if form.signed else code
    return code ^ 1 << form.container - 1


Right = dict[str, tuple[list[Case], list[int]]]
FEW = 24  # cases that a mutant is tried on before more of them


def assert_right(name: str, given: list[Case]) -> tuple[list[Case], list[int]]:
    """The cases and the witness's results, which are the model's too."""
    want = expected(name, given)
    assert run(name, given) == want, "without a mutant"
    return given, want


def right_of(
    mutants: Mapping[str, tuple[str, Any]], directed: Mapping[str, list[Case]], count: int, seed: int
) -> Right:
    """Cases of the units that mutants are tried on, with right results."""
    names = {name for name, _ in mutants.values()}
    return {name: assert_right(name, [*cases(name, count, seed), *directed.get(name, ())]) for name in names}


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
        definition_of.cache_clear()  # definitions keep products that they have seen: none of a mutant's
    assert caught, f"none of {len(given)} cases tells"
