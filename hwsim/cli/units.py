"""`hwsim units`: units in words, and which implementation supports which setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache, partial
from typing import Annotated, Any, assert_never

import typer
from pydantic import ValidationError

import hwsim
from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import AsJson, objects, print_json, print_table, say
from hwsim.compute.support import Implementation
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    ModalUnit,
    PairwiseSum,
    RoundedSum,
    SequentialSum,
    SparseUnit,
    Sum,
    Support,
    Unit,
    WindowSum,
    as_yaml,
    families,
    implemented,
    load_any,
    load_unit,
    matching,
    pipeline,
    steps,
    unpromised,
)
from hwsim.spec.keys import Overflow, Tininess, lost_words
from hwsim.spec.parts import Instruction
from hwsim.spec.standard import canonical as canonical_text
from hwsim.spec.standard import fingerprint, schema_text
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup
from hwsim.spec.table import SpecKey, spec_keys

# Presets of every method, with and without scales, promotion, conversion, groups, in which settings are tried.
BASES = (
    "hopper-wgmma-e4m3-f32",
    "mxfp8-e4m3-f32",
    "deepseek-v3-e4m3-f32",
    "deepseek-v3-e4m3-f32-scaled",
    "blackwell-mma-e4m3-f32",
    "blackwell-mxf4nvf4-e2m1-f32",
    "cdna3-mfma-e4m3fnuz-f32",
    "cdna2-mfma-bf16-f32",
    "intel-amx-e5m2-f32",
    "hfp8-forward-e4m3-dlfloat16",
    "exact-e4m3-f32",
    "int8-i32",
    "rvbna-e4m3-f32-n8",
)
# Parts that no preset has.
PARTS = {"sum.subgroup": {"lanes": 2, "method": "aligned", "fraction_bits": 6}, "sum.cut": {"bits": 2}}
# Values for keys whose values are no words to choose from.
EXAMPLES: dict[str, Any] = {
    "operands.convert": "f16",
    "instruction.order": {"modulo": 4, "groups": [[0, 1], [2, 3]]},
    "sum.max_exp_floor": -100,
    "sum.product_limit": 60,
    "sum.subgroup.low_lanes": 4,
    "late.drop_below": 20,
    "late.total_bits": 20,
}
Supports = Callable[[Unit], Support]


def implementations() -> dict[str, Supports]:
    """The `supports` function of every implementation, by the implementation's name for users."""
    from hwsim.cases.case import draws

    names: dict[str, Implementation] = {
        "the clock": "clock", "compiled code": "kernels", "hwsim.gemm on a GPU": "cuda",
        "hwsim rtl and hwsim cosim": "rtl", "hwsim export-c": "c",
    }  # fmt: skip
    return {**{name: partial(hwsim.supports, by=by) for name, by in names.items()}, "hwsim vectors": draws}


def refusals(unit: Unit) -> Iterator[tuple[str, Support]]:
    """The answers of the implementations that do not support a unit."""
    for name, supports in implementations().items():
        support = supports(unit)
        if not support:
            yield name, support


def with_value(unit: Unit, path: str, value: Any) -> Unit | None:
    """A unit with another value of a key; None where that breaks a rule."""
    data = deepcopy(unit.model_dump(mode="json", exclude_unset=True))
    *sections, key = path.split(".")
    part = data
    for section in sections:
        if not isinstance(part.get(section), dict):
            return None
        part = part[section]
    part[key] = value
    try:
        return Unit.model_validate(data)
    except ValidationError:
        return None


def value_at(unit: Unit, path: str) -> Any:
    """The value of a key; None where the unit has no such part or key."""
    value: Any = unit
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


@cache
def examples(path: str, choice: str | bool | None) -> tuple[Unit, ...]:
    """Units that have a setting. choice: the key's value; None for any value other than its default."""
    value = EXAMPLES.get(path) if choice is None else choice
    units = [load_unit(name) for name in BASES]
    units += [units[0].replace({part: keys}) for part, keys in PARTS.items()]
    having = [unit for unit in units if value_at(unit, path) == value]
    changed = [with_value(unit, path, value) for unit in units]
    return (*having, *(unit for unit in changed if unit is not None))


def settings() -> Iterator[tuple[SpecKey, str, tuple[Unit, ...]]]:
    """Every setting of every key: the key, the setting in words, and units that have it, if any is known."""
    for key in spec_keys():
        if not key.choices and key.path not in EXAMPLES:
            yield key, ", ".join(key.values), ()
            continue
        for word in key.values if key.choices else key.values[:1]:
            choice = {"true": True, "false": False}.get(word, word)
            yield key, word, examples(key.path, choice if choice in key.choices else None)


KEY_HEADER = ("key", "meaning", "values")


def key_rows() -> Iterator[tuple[str, str, str]]:
    """Every key in Markdown. **Bold**: in the model; with an asterisk: in the model, not in the RTL."""
    from hwsim import model, rtl

    marked: dict[SpecKey, list[str]] = {}
    for key, word, units in settings():
        in_model, in_rtl = (any(supports(unit) for unit in units) for supports in (model.supports, rtl.supports))
        text = f"**{word}**" if in_model else word
        marked.setdefault(key, []).append(text + ("\\*" if in_model and not in_rtl else ""))
    for key, words in marked.items():
        rest = [] if key.choices or key.path not in EXAMPLES else key.values[1:]
        of = f" Of {' and '.join(key.of)}." if key.of else ""
        default = "" if key.default in (None, "", ()) else f" (default {str(key.default).lower()})"
        yield f"`{key.path}`", f"{key.meaning}{of}", f"{', '.join([*words, *rest])}{default}"


def key_table() -> str:
    """The keys as a table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in key_rows()]
    return "\n".join([f"| {' | '.join(KEY_HEADER)} |", "|---|---|---|", *lines])


@app.command()
def units(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A unit, the path of its YAML file, or a pattern of names with * and ?.",
            autocompletion=complete.units,
        ),
    ] = None,
    keys: Annotated[bool, typer.Option("--keys", help="List the keys of a unit file and their values.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of unit files.")] = False,
    canonical: Annotated[
        bool,
        typer.Option("--canonical", help="Print a unit's arithmetic alone: every key, sorted, formats written out."),
    ] = False,
    hashed: Annotated[bool, typer.Option("--hash", help="Print the SHA-256 of what --canonical prints.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the units, or show one: its specification, and how to read it.

    \b
    hwsim units
    hwsim units 'blackwell-mxf8f6f4-*'                    every unit of a family
    hwsim units hopper-wgmma-e4m3-f32 > my-unit.yaml      then change it
    hwsim units my-unit.yaml                              check it
    hwsim units --keys                                    what a file can hold, as a table in Markdown
    hwsim units my-unit.yaml --hash                       the same for all files of this arithmetic
    hwsim units --json                                    every unit by itself; or one: its keys, and sentences

    Evidence: captured (its outputs were compared with real hardware's), emulated (with an emulator's), published,
    documented, designed.
    """
    if keys:
        print_json(objects(KEY_HEADER, key_rows())) if as_json else say(key_table())
        return
    if schema:
        say(schema_text().rstrip())
        return
    if canonical or hashed:
        if name is None:
            raise InputError(f"{'--canonical' if canonical else '--hash'} goes with the name of a unit")
        one = load_any(name)
        say(canonical_text(one) if canonical else fingerprint(one))
        return
    pattern = "*" if name is None and as_json else name
    if pattern is None:
        rows = [(row, load_any(units[-1]).evidence, summary + _count(units)) for row, summary, units in families()]
        print_table(HEADER, rows)
        return
    if "*" in pattern or "?" in pattern:
        loaded = [load_any(preset) for preset in matching(pattern, sparse=True)]
        cells = [(unit.name, unit.evidence, unit.summary) for unit in loaded]
        print_json(objects(HEADER, cells)) if as_json else print_table(HEADER, cells)
        return
    unit = load_any(pattern)
    match unit:
        case ModalUnit():
            sentences = modal_reading(unit)
        case SparseUnit():
            sentences = sparse_reading(unit)
        case Unit():
            sentences = reading(unit)
        case _:
            assert_never(unit)
    if as_json:
        print_json({"keys": unit.model_dump(mode="json", exclude_unset=True), "sentences": [*sentences]})
        return
    say(as_yaml(unit).rstrip())
    say()
    for sentence in sentences:
        say(f"# {sentence}")


HEADER = ("name", "evidence", "summary")


def _count(units: list[str]) -> str:
    """The number of units of a family, in words that follow its summary; empty for one unit."""
    return f" ({len(units)} units)" if len(units) > 1 else ""


HARDWARE = "hwsim rtl and hwsim cosim"


def _overflow(rule: Overflow) -> str:
    match rule:
        case "infinity":
            return "overflow gives infinity"
        case "ieee":
            return "overflow gives what IEEE 754 has for the rounding"
        case "nan":
            return "overflow gives NaN"
        case "propagate":
            return "overflow saturates, and infinities stay"
        case "saturate":
            return "overflow saturates"
        case "wrap":
            return "overflow wraps round"
        case _:
            assert_never(rule)


def _judged(tininess: Tininess) -> str:
    """The result by which a subnormal is recognised, in words that follow a clause on results that become zero."""
    match tininess:
        case "result":
            return ""
        case "after":
            return ", judged after a rounding with an unbounded exponent"
        case "before":
            return ", judged before any rounding"
        case _:
            assert_never(tininess)


def reading(unit: Unit, availability: bool = True) -> Iterator[str]:
    """Sentences that describe a unit. availability: and what does not support it."""
    operands, instruction, result = unit.operands, unit.instruction, unit.result
    addend = f" and an addend in {operands.addend.name}" if operands.addend else ", no addend"
    yield (
        f"One instruction takes {instruction.k} products {operands.a.name} x {operands.b.name}{addend}, "
        f"summed in groups of {instruction.lanes}."
    )
    yield from _order(instruction)
    if operands.convert is not None:
        yield f"Factors are converted to {operands.convert.name}, exactly, before they are multiplied."
    if operands.daz:
        yield f"Subnormal factors{' of ' + operands.convert.name if operands.convert else ''} count as zero."
    if operands.zeros == "positive":
        small = " or flushed" if operands.daz or unit.flushes_addends else ""
        yield f"Factors and addends that are zero{small} are +0."
    yield from _scales(unit)
    yield from _sum(unit)
    yield f"The sum is rounded once, {result.rounding}, to {result.format.name}; {_overflow(result.overflow)}."
    if result.flushes is not None:
        yield f"A subnormal result becomes zero{_judged(result.flushes)}."
    yield from (f"Not promised: {text}." for text in unpromised(unit).left_out())
    yield from _late(unit)
    longer = (
        "is refused" if instruction.chain is None else "takes the result of one instruction as the next one's addend"
    )
    part = "" if _zeros_count(unit.sum) else ", which take no part"
    yield f"A longer K {longer}; a shorter one is filled with zero terms{part}."
    if unit.promotion is not None:
        yield (
            f"Every {unit.promotion.interval} products, and at the end, the partial sum{_times(unit)} goes "
            f"into a register in {unit.promotion.format.name}, {unit.promotion.rounding}."
        )
    if availability:
        yield from _availability(unit)


def sparse_reading(unit: SparseUnit) -> Iterator[str]:
    """Sentences that describe a sparse unit."""
    rule = unit.sparsity
    runs = "neighbours" if rule.run == 1 else f"runs of {rule.run} neighbours"
    yield f"Of every {rule.of} {runs} along K, a keeps {rule.keep}; metadata has their indices, which ascend."
    yield f"What a does not keep takes no part. What it keeps is multiplied and summed as by {unit.dense.name}:"
    yield from reading(unit.dense, availability=False)
    yield "RTL and C take indices as they are, also where they do not ascend."
    for name, by in (("hwsim rtl, hwsim cosim and hwsim prove", "rtl"), ("hwsim export-c", "c")):
        support = hwsim.supports(unit, by)  # type: ignore[arg-type]
        if not support:
            yield f"{name} refuse{'' if ' and ' in name else 's'} it: {support.reason}."
    yield f"{', '.join(TAKE_SPARSE[:-1])} and {TAKE_SPARSE[-1]} take it; what else there is refuses it by name."


# What takes sparse units, where nothing of the dense one is lacking.
TAKE_SPARSE = (
    "hwsim.gemm", "hwsim.dot", "hwsim.compress", "hwsim.tolerance", "hwsim.model", "hwsim rtl", "hwsim cosim",
    "hwsim prove", "hwsim export-c", "hwsim vectors", "hwsim explain", "hwsim diff", "hwsim qualify", "hwsim synth",
)  # fmt: skip


def _times(unit: Unit) -> str:
    """The factors of a promotion, in order, in words; empty where it multiplies nothing."""
    if unit.promotion is None or unit.promotion.operation != "fma":
        return ""
    match unit.promotion.first:
        case "scales":
            return " times the product of both scales, itself rounded,"
        case "a":
            return " times the scale of a, rounded, times the scale of b"
        case "b":
            return " times the scale of b, rounded, times the scale of a"
        case _:
            assert_never(unit.promotion.first)


def modal_reading(unit: ModalUnit) -> Iterator[str]:
    """Sentences that describe a unit of several modes: what a beat chooses, and the rest by its first mode."""
    first = next(iter(unit.modes))
    every = [mode.scales for mode in unit.modes.values()]
    scales = "" if all(every) else f", {every.count(False)} of them without scales"
    yield f"A unit of {len(every)} modes{scales}: each beat chooses one, which computes its group."
    yield f"hwsim rtl and hwsim cosim take it whole; one mode is a unit for every command: {unit.name}:{first}."
    yield f"Of mode {first}:"
    yield from reading(unit.mode(first))


AT = {
    "product": "which enters each product",
    "subgroup": "which enters the exact sum of each subgroup",
    "promotion": "which enters the promotion",
}


def _scales(unit: Unit) -> Iterator[str]:
    """A sentence on shared scales, and where they enter."""
    if unit.scale is not None:
        a, b = unit.scale.a, unit.scale.b
        where = "" if unit.scale.at == "product" else f", {AT[unit.scale.at]}"
        yield (
            f"Blocks of {a.block[0]} x {a.block[1]} of A share a scale in {a.format.name}, "
            f"blocks of {b.block[0]} x {b.block[1]} of B one in {b.format.name}{where}."
        )


def _zeros_count(rule: Sum) -> bool:
    """True if a zero term can change a result."""
    match rule:
        case AlignedSum() | EvenOddSum():
            return rule.zero_terms == "count" or rule.zero == "ieee"
        case ExactSum():
            return rule.zero == "ieee"
        case SequentialSum() | PairwiseSum():
            return True
        case _:
            assert_never(rule)


def _sum(unit: Unit) -> Iterator[str]:
    """Sentences on how a group is summed."""
    rule = unit.sum
    if rule.product_limit is not None:
        yield f"A product of 2^{rule.product_limit} or more is infinite."
    match rule:
        case AlignedSum():
            yield from _aligned(rule)
        case EvenOddSum():
            yield (
                f"Even and odd products of a group are summed apart; each keeps {rule.fraction_bits} bits below its "
                f"largest exponent; {lost_words(rule.lost).sentence}."
            )
            both = rule.combine
            yield f"Both sums keep {both.fraction_bits} bits below the larger one; {lost_words(both.lost).sentence}."
        case ExactSum():
            where = "after each group" if rule.rounded == "group" else "only where the sum leaves its register"
            if rule.subgroup is not None:
                yield f"Each {rule.subgroup.lanes} products are summed exactly, times both scales."
            yield f"All is summed exactly, and rounded {where}."
        case SequentialSum():
            yield from _additions(rule, "Products are added one after the other to the addend")
        case PairwiseSum(chains=int(chains)):
            words = (
                f"Products are dealt to {chains} sums in turn, and added one after the other from +0; a tree adds these"
            )
            yield from _additions(rule, f"{words}, neighbours first, and then the addend")
        case PairwiseSum():
            yield from _additions(rule, "Products are added by a tree, neighbours first, and then the addend")
        case _:
            assert_never(rule)
    if isinstance(rule, WindowSum):
        if rule.zero_terms == "count":
            yield "Zero terms count for the largest exponent, a zero factor and a zero addend with its format's least."
        if rule.max_exp_floor is not None:
            yield f"The largest exponent is at least {rule.max_exp_floor}."
    if not isinstance(rule, RoundedSum) and rule.zero == "ieee":
        yield "A sum of zero has the sign that IEEE 754 gives it."


def _aligned(rule: AlignedSum) -> Iterator[str]:
    match rule.subgroup:
        case ExactSubgroup(lanes=lanes) as part:
            yield (
                f"Each {lanes} products are summed exactly, times both scales' significands, and stand in "
                "the window at their scales' exponents."
            )
            changes = [] if part.low_lanes is None else [f"each {part.low_lanes} products are summed so"]
            changes += ["it has no part in the largest exponent"] if part.low_addend == "skip" else []
            if changes:
                low = "the addend is zero, or its exponent below the largest product's, scales counted"
                yield f"Where {low}, {' and '.join(changes)}."
        case WindowSubgroup(lanes=lanes, fraction_bits=bits, lost=lost):
            yield (
                f"Each {lanes} products are aligned and summed in a window of their own, with {bits} bits; "
                f"{lost_words(lost).sentence}; the sum stands in the group's window at the largest exponent of its own."
            )
        case None:
            pass
        case _:
            assert_never(rule.subgroup)
    yield (
        f"A group keeps {rule.fraction_bits} bits below its largest exponent; {lost_words(rule.lost).sentence}; "
        "it is summed exactly."
    )
    if rule.cut is not None:
        places = counted(rule.cut.bits, "lowest place")
        yield f"Before it is rounded, the sum loses the {places} of the window, {lost_words(rule.cut.lost).after}."


def _additions(rule: RoundedSum, how: str) -> Iterator[str]:
    flushed = "" if rule.flushes is None else f"; subnormals become zero{_judged(rule.flushes)}"
    product = "products are exact" if rule.product == "fused" else "products are rounded first"
    yield f"{how}; {product}{flushed}."
    large = "" if rule.overflow == "ieee" else f"; {_overflow(rule.overflow)}"
    yield f"Each addition is rounded, {rule.rounding}, to {rule.format.name}{large}."


def _late(unit: Unit) -> Iterator[str]:
    """A sentence on how a late addend is added."""
    match unit.late:
        case LateAdd() as late:
            zero = "; subnormal addends and results become zero"
            flushed = "" if late.flushes is None else f"{zero}{_judged(late.flushes)}"
            yield (
                f"After an instruction's last group the addend is added to its sum, {late.rounding} to "
                f"{late.format.name}: that is the result{flushed}."
            )
        case LateInWindow() as late:
            dropped = "" if late.drop_below is None else f"; an addend more than {late.drop_below} below is dropped"
            yield (
                f"Before it is rounded, the sum keeps {late.sum_bits} bits and the addend {late.addend_bits} below the "
                f"larger of their exponents, {late.lost}{dropped}."
            )
            if late.zero_addend == "count":
                yield "An addend of zero counts there at its format's least exponent."
            if late.total_bits is not None:
                yield f"Of both together {late.total_bits} bits below the leading one are kept, {late.lost}."
        case None:
            pass
        case _:
            assert_never(unit.late)


def _order(instruction: Instruction) -> Iterator[str]:
    """Sentences on the order of products and on the first group's start, where they are not the defaults."""
    order = instruction.order
    if order != "sequential":
        groups = ", then ".join(f"those with index mod {order.modulo} in {sorted(group)}" for group in order.groups)
        yield f"Groups, in order: {groups}."
    if instruction.start == "zero":
        yield "The first group of an instruction starts from +0, any other from the result of the group before."


def _availability(unit: Unit) -> Iterator[str]:
    """Sentences on which implementations refuse a unit, and why, and on the cuts of its pipeline."""

    general = implemented(unit)
    if not general:
        yield f"Refused: {general.reason}."
        return
    refused = dict(refusals(unit))
    for name, support in refused.items():
        yield f"{name} refuse{'' if ' and ' in name else 's'} it: {support.reason}."
    for name, supports in implementations().items():
        for setting in supports(unit).unseen:
            yield f"{name} leaves {setting} out, which no result of this unit shows."
    if HARDWARE not in refused:
        yield f"hwsim rtl --cuts: any of {', '.join(steps(unit))}; {','.join(pipeline(unit).cuts)} unless said."
