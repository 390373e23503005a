"""Draw random units: mappings with any key, kept where they break no rule and every implementation should have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import ValidationError

from hwsim.base.errors import InputError
from hwsim.cases.drawing import Stream
from hwsim.formats import ExponentFormat, FloatFormat, Format, formats, get_format
from hwsim.formats.blocks import reference
from hwsim.spec import Pipeline, Unit, described, pipeline, steps
from hwsim.spec.fields import ROUNDED, worded
from hwsim.spec.keys import ALIGNED_LOST, LOST, FloatOverflow, Overflow, Rounding, Tininess
from hwsim.spec.modes import ModalUnit
from hwsim.spec.table import spec_keys

Keys = dict[str, Any]

OWN = 0.35  # the share of formats that do not ship
UNWIELDY = {"f64"}  # codes of 64 bits, which have no cases
MOST_BITS = 32


class FormatDrawer:
    """Formats from a stream. narrow: of at most 8 bits."""

    def __init__(self, stream: Stream, *, narrow: bool = False):
        self.stream, self.narrow = stream, narrow
        self._shipped = [fmt for name in formats() if name not in UNWIELDY and self._fits(fmt := get_format(name))]

    def _fits(self, fmt: Format) -> bool:
        return not self.narrow or fmt.bits <= 8

    def any(self) -> Any:
        if self.stream.random() >= OWN:
            return self.stream.choice(self._shipped).name
        return self.stream.choice((self.own_float, self.own_float, self.own_fixed, self.own_power))()

    def factor(self) -> Any:
        stream = self.stream
        if stream.random() < 0.15:
            return stream.choice(("mxint8", "mxint8", self.own_fixed()))
        return self.float()

    def float(self) -> Any:
        """A signed float, as factors and results have it."""
        if self.stream.random() < OWN:
            return self.own_float()
        return self.stream.choice([fmt.name for fmt in self._shipped if _is_float(fmt)])

    def register(self) -> Any:
        """A signed float with a NaN, as sums have it."""
        usual = ("f32", "f16", "bf16", "e8m13", "e5m2", "e4m3", "dlfloat16", "tf32")
        few = ("e5m2", "e4m3", "hfp8-e5m2", "e4m3fnuz")
        if self.stream.random() < OWN:
            return self.own_float(with_nan=True)
        return self.stream.choice(few if self.narrow else usual)

    def power(self) -> Any:
        return "e8m0" if self.stream.random() < 0.6 else self.own_power()

    def own_float(self, *, with_nan: bool = False) -> Keys:
        """A float format of a user's own. with_nan: one that sums can have."""
        stream = self.stream
        exponent_bits = stream.randint(1, 5 if self.narrow else 9)
        most = min(7 - exponent_bits if self.narrow else 24, MOST_BITS - 1 - exponent_bits)
        fraction_bits = stream.randint(0, max(0, min(most, stream.choice((2, 4, 8, 24)))))
        keys: Keys = {
            "name": f"own-e{exponent_bits}m{fraction_bits}", "kind": "float", "exponent_bits": exponent_bits,
            "fraction_bits": fraction_bits, "bias": (1 << exponent_bits - 1) - 1 + stream.randint(-2, 6),
        }  # fmt: skip
        bits, top = 1 + exponent_bits + fraction_bits, 1 << exponent_bits + fraction_bits
        kind = stream.choice(("ieee", "last", "zero") if with_nan else ("ieee", "last", "zero", "none", "none"))
        if kind == "ieee" and fraction_bits:
            keys |= {"nan": "ieee", "infinities": True}
        elif kind == "zero":
            keys |= {"nan": [top], "signed_zero": False, "infinities": stream.random() < 0.5}
        elif kind == "last" or with_nan:
            keys |= {"nan": [top - 1, 2 * top - 1], "infinities": stream.random() < 0.5}
        if stream.random() < 0.25:
            keys |= {"subnormals": False} | ({"underflow": "zero"} if stream.random() < 0.5 else {})
        if stream.random() < 0.2:
            keys["container"] = 8 if bits <= 8 else 16 if bits <= 16 else 32
        return keys

    def own_fixed(self) -> Keys:
        integers, fraction = self.stream.randint(0, 5 if self.narrow else 12), self.stream.randint(0, 2)
        integers = max(integers, 1 if not fraction else 0)
        return _fixed(integers, fraction)

    def result_fixed(self) -> Any:
        """A fixed format that exact sums are rounded to."""
        bits = self.stream.randint(3, 24)
        return self.stream.choice(("i32", _fixed(bits, 2), self.own_fixed(), self.placed_fixed(), self.placed_fixed()))

    def placed_fixed(self) -> Keys:
        """A fixed format of up to 140 bits, whose point may stand outside of them."""
        stream = self.stream
        bits = stream.choice((stream.randint(1, 31), stream.randint(31, 66), stream.randint(66, 139)))
        fraction = stream.choice((stream.randint(-8, 12), stream.randint(-8, 12), stream.randint(-40, 150)))
        return _fixed(bits - fraction, fraction)

    def finite_float(self) -> Keys:
        exponent_bits = self.stream.randint(1, 5)
        fraction_bits = self.stream.randint(1, 3)
        return {
            "name": f"finite-e{exponent_bits}m{fraction_bits}", "kind": "float", "exponent_bits": exponent_bits,
            "fraction_bits": fraction_bits, "bias": (1 << exponent_bits - 1) - 1, "nan": [], "infinities": False,
        }  # fmt: skip

    def own_power(self) -> Keys:
        bits = self.stream.randint(2, 7)
        keys: Keys = {
            "name": f"own-e{bits}m0", "kind": "exponent", "exponent_bits": bits,
            "bias": (1 << bits - 1) - 1 + self.stream.randint(-3, 3),
        }  # fmt: skip
        return keys | ({"nan": [(1 << bits) - 1]} if self.stream.random() < 0.5 else {})


def _fixed(integers: int, fraction: int) -> Keys:
    name = f"own-i{integers}f{fraction}".replace("-i-", "-im").replace("f-", "fm")
    return {"name": name, "kind": "fixed", "integer_bits": integers, "fraction_bits": fraction}


def _is_float(fmt: Format) -> bool:
    return not isinstance(fmt, ExponentFormat) and fmt.signed and not fmt.without_exponent


ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)
OVERFLOWS: tuple[Overflow, ...] = get_args(Overflow)
FLOAT_OVERFLOWS: tuple[FloatOverflow, ...] = get_args(FloatOverflow)
TININESS: tuple[Tininess, ...] = get_args(Tininess)
METHODS = ("aligned", "aligned", "aligned", "even-odd", "exact", "exact", *ROUNDED)
AFTER = ("none", "none", "late", "promotion")  # what comes after a group's sum
FIRST = ("scales", "a", "b")  # what a promotion with scales multiplies first
MOST_CONTEXTS = 4
TRIES = 300  # of a method, and of what comes after it, until a unit breaks no rule
CHAINED = 0.4  # the share of trees without parts that add the sums of chains
LOW = 0.5  # the share of scaled sums that a low addend changes
RARE = 0.2  # the share of units with something of `OUTSIZE`
OUTSIZE = ("lanes", "groups", "window", "limits", "f64")
MOST_OUTSIZE_CONTEXTS = 16
MODE_TRIES = 40


@dataclass(frozen=True)
class Size:
    """The size of drawn units: the most lanes, and groups of an instruction, but for a few that are outsize.

    narrow: codes of 8 bits, mostly, and none is outsize.
    """

    lanes: int = 8
    groups: int = 3
    narrow: bool = False


@dataclass(frozen=True)
class DrawnUnit:
    """A unit, its pipeline, and the seed of its operands. number: its number in a run.

    refused: valid specifications drawn before it that no implementation has, by the reason.
    """

    unit: Unit
    pipeline: Pipeline
    seed: int
    number: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def drawn_unit(seed: int, number: int, size: Size | None = None) -> DrawnUnit:
    """Draw unit `number` of a seed: it depends on these and on the size alone."""
    stream, refused, size = Stream(seed, "fuzz", number), Counter[str](), size or Size()
    drawer = _UnitDrawer(stream, size)
    # Of a stream of their own, so that other units do not depend on them.
    rare = Stream(seed, "fuzz outsize", number)
    outsize = "" if size.narrow or rare.random() >= RARE else rare.choice(OUTSIZE)
    first = Stream(seed, "fuzz first", number).choice(FIRST)
    chains, low = Stream(seed, "fuzz chains", number), Stream(seed, "fuzz low addends", number)
    while True:
        # These first, so that each is as frequent as it is meant to be, however many rules go with it.
        method, after = stream.choice(METHODS), stream.choice(AFTER)
        for _ in range(TRIES):
            try:
                keys = {**drawer.keys(method, after), "unit": f"fuzz-{seed}-{number}"}
                if keys.get("promotion", {}).get("operation") == "fma":
                    keys["promotion"]["first"] = first
                _with_chains(keys, chains)
                _with_low_addend(keys, low)
                unit = Unit.model_validate(_enlarged(keys, outsize, rare))
            except (ValidationError, InputError):
                continue
            support = described(unit)
            if support:
                built = drawn_pipeline(unit, stream)
                if not size.narrow:
                    built = _odd_pipeline(unit, built, rare)
                return DrawnUnit(unit, built, seed, number, refused)
            refused.update(support.lacks[:1])


def drawn_pipeline(unit: Unit, stream: Stream) -> Pipeline:
    """Draw any registers and contexts; every fourth unit gets the usual ones."""
    if stream.random() < 0.25:
        return pipeline(unit)
    every, share = steps(unit), stream.random()
    cuts = tuple(step for step in every if stream.random() < share)
    return pipeline(unit, cuts, stream.randint(1, MOST_CONTEXTS))


def _odd_pipeline(unit: Unit, built: Pipeline, rare: Stream) -> Pipeline:
    """Change the pipelines of some units: many contexts, or a buffer at the input."""
    contexts = rare.randint(MOST_CONTEXTS + 1, MOST_OUTSIZE_CONTEXTS) if rare.random() < RARE / 2 else built.contexts
    return pipeline(unit, built.cuts, contexts, register_ready=rare.random() < RARE)


def _enlarged(keys: Keys, outsize: str, rare: Stream) -> Keys:
    """Make one thing in the keys larger than it is usually drawn. outsize: of `OUTSIZE`, or nothing."""
    rule, instruction = keys["sum"], keys["instruction"]
    match outsize:
        case "lanes":
            times = rare.choice((8, 16, 32))
            instruction.pop("order", None)
            instruction |= {"k": instruction["k"] * times, "lanes": instruction["lanes"] * times}
            if "scale" in keys:
                keys["scale"]["a"]["block"][1] *= times
                keys["scale"]["b"]["block"][0] *= times
            for part, key in ((keys.get("promotion"), "interval"), (rule.get("subgroup"), "lanes")):
                if part is not None:
                    part[key] *= times
        case "groups":
            instruction.pop("order", None)
            instruction["k"] *= rare.randint(2, 16)
        case "window":
            for part in (rule, rule.get("combine"), rule.get("subgroup")):
                if part is not None and "fraction_bits" in part:
                    part["fraction_bits"] = rare.randint(71, 200)
        case "limits":
            wide = rule["method"] in ("aligned", "even-odd") and rare.random() < 0.5
            rule["max_exp_floor" if wide else "product_limit"] = rare.choice((-1, 1)) * rare.randint(20, 500)
            if "drop_below" in keys.get("late", {}):
                keys["late"]["drop_below"] = rare.randint(20, 500)
        case "f64":
            parts = (
                (rule, "format"),
                (keys["result"], "format"),
                (keys["operands"], "addend"),
                (keys.get("late"), "format"),
            )
            for part, key in parts:
                if part is not None and part.get(key, "none") != "none" and rare.random() < 0.7:
                    part[key] = "f64"
    return keys


def _with_chains(keys: Keys, chains: Stream) -> None:
    """Let some trees add the sums of chains."""
    rule, lanes = keys["sum"], keys["instruction"]["lanes"]
    if rule["method"] == "pairwise" and "subgroup" not in rule and chains.random() < CHAINED:
        rule["chains"] = chains.choice([count for count in range(1, lanes + 1) if lanes % count == 0])


def _with_low_addend(keys: Keys, low: Stream) -> None:
    """Let a low addend change what some scaled sums are."""
    part = keys["sum"].get("subgroup", {})
    if keys["sum"]["method"] != "aligned" or part.get("method") != "exact" or low.random() >= LOW:
        return
    if low.random() < 0.5:
        part |= {"cancelled": "count", "low_addend": "skip"}
    lanes = part["lanes"]
    if lanes > 1 and low.random() < 0.7:
        part["low_lanes"] = low.choice([count for count in range(1, lanes) if lanes % count == 0])


def modes_of(drawn: DrawnUnit) -> ModalUnit | None:
    """A unit with two modes, the factors of a drawn unit and others; None where no try makes such a unit."""
    stream = Stream(drawn.seed, "fuzz modes", drawn.number)
    formats = FormatDrawer(stream)
    data = worded(drawn.unit.model_dump(mode="json", exclude_unset=True))
    factors = {side: data["operands"].pop(side) for side in ("a", "b")}
    for _ in range(MODE_TRIES):
        others = {side: formats.factor() for side in ("a", "b")}
        try:
            return ModalUnit.model_validate({**data, "modes": {"own": factors, "other": others}})
        except (ValidationError, InputError):
            continue
    return None


class _UnitDrawer:
    """Draws the keys of units, which may break rules between them."""

    def __init__(self, stream: Stream, size: Size):
        self.stream, self.size = stream, size
        self.formats = FormatDrawer(stream, narrow=size.narrow)

    def keys(self, method: str, after: str) -> Keys:
        """All keys of a unit but its name. after: of `AFTER`."""
        stream = self.stream
        lanes = stream.choice((1, 2, stream.randint(1, 4), stream.randint(1, self.size.lanes)))
        lanes = min(lanes, self.size.lanes)
        groups = 1 if method == "even-odd" else stream.choice((1, stream.randint(1, self.size.groups)))
        fixed = method == "exact" and stream.random() < 0.3
        keys: Keys = {
            "operands": self._operands(fixed=fixed),
            "instruction": {"k": lanes * groups, "lanes": lanes, **self._some(0.25, chain="none")},
            "sum": self._sum(method),
            "result": self._result(fixed=fixed),
        }
        if groups > 1 and stream.random() < 0.3:
            keys["instruction"]["order"] = self._order(groups, lanes)
        if stream.random() < 0.35:
            self._scale(keys, lanes, after)
        if method == "aligned" and "subgroup" not in keys["sum"] and stream.random() < 0.2:
            keys["sum"]["subgroup"] = self._subgroup(lanes, own=True)
        if method in ROUNDED and "subgroup" not in keys["sum"] and stream.random() < 0.15:
            keys["sum"]["subgroup"] = self._subgroup(lanes, own=False)
        scaled = keys.get("scale", {}).get("at") == "promotion"
        match after:
            case "promotion":
                keys["promotion"] = self._promotion(lanes, scaled=scaled)
            case "late":
                self._late(keys)
            case _ if keys["operands"]["addend"] == "none":
                keys["instruction"] |= self._some(0.5, start="zero", chain="none")
        return keys

    def _promotion(self, lanes: int, *, scaled: bool) -> Keys:
        stream = self.stream
        return {
            "interval": lanes * stream.randint(1, 3), "format": self.formats.register(),
            "operation": "fma" if scaled else "add", **self._some(0.8, rounding=stream.choice(ROUNDINGS)),
        }  # fmt: skip

    def _some(self, chance: float, **keys: Any) -> Keys:
        return keys if self.stream.random() < chance else {}

    def _operands(self, *, fixed: bool) -> Keys:
        stream, formats = self.stream, self.formats
        a = formats.factor()
        b = a if stream.random() < 0.4 else formats.factor()
        addends = (formats.result_fixed(),) if fixed else (formats.float(), formats.register(), formats.register())
        if fixed:
            a, b = (
                stream.choice(("mxint8", formats.own_fixed(), "e2m1", "e3m2", formats.finite_float())) for _ in "ab"
            )
        return {
            "a": a, "b": b, "addend": stream.choice(("none", *addends)), **self._some(0.15, daz=True),
            **self._some(0.2, zeros="positive"), **self._some(0.15, convert=formats.register()),
        }  # fmt: skip

    def _sum(self, method: str) -> Keys:
        stream, some = self.stream, self._some
        rule: Keys = {"method": method, **some(0.1, product_limit=stream.randint(-6, 20))}
        if method in ("aligned", "even-odd"):
            lost = stream.choice(ALIGNED_LOST if method == "aligned" else LOST)
            rule |= {"fraction_bits": self._bits()} | some(0.85, lost=lost)
            rule |= some(0.25, zero_terms="count") | some(0.2, max_exp_floor=stream.randint(-30, 20))
            rule |= some(0.25, zero="ieee")
            if method == "aligned" and stream.random() < 0.2:
                rule["cut"] = {"bits": stream.randint(1, stream.choice((3, 3, 12, 80)))} | some(
                    0.7, lost=stream.choice(LOST)
                )
            if method == "even-odd":
                rule["combine"] = {"fraction_bits": self._bits(), "lost": stream.choice(LOST)}
        elif method == "exact":
            rule |= some(0.6, rounded=stream.choice(("end", "group"))) | some(0.3, zero="ieee")
        else:
            rule |= {"product": stream.choice(("rounded", "fused")), "format": self.formats.register()}
            rule |= {"rounding": stream.choice(ROUNDINGS)} | self._flush(0.4, flush=True)
            rule |= some(0.5, overflow=stream.choice(FLOAT_OVERFLOWS))
        return rule

    def _flush(self, chance: float, **keys: Any) -> Keys:
        """Keys that flush to zero, and the key for when a number counts as subnormal."""
        return self._some(chance, **keys, tininess=self.stream.choice(TININESS))

    def _bits(self) -> int:
        """The bits of a window: few, as many as units have, or very many."""
        stream = self.stream
        most = stream.choice((6, 6, 14, 14, 32, 70))
        return stream.randint(most // 3 if most > 6 else 0, most)

    def _result(self, *, fixed: bool) -> Keys:
        stream = self.stream
        fmt = self.formats.result_fixed() if fixed else self.formats.float()
        keys: Keys = {"format": fmt, "rounding": stream.choice(ROUNDINGS)}
        keys["overflow"] = stream.choice(("saturate", "wrap") if fixed else OVERFLOWS)
        keys |= self._some(0.25, tiny="positive") | self._flush(0.3, subnormals="flush")
        keys |= self._some(0.1, zero_sign="any")
        if stream.random() < 0.2:
            keys["nan"] = "any" if stream.random() < 0.5 else self._nan(fmt)
        return keys

    def _nan(self, fmt: Any) -> int | str:
        try:
            known = reference(fmt)
        except (ValidationError, InputError):
            return "canonical"
        if not isinstance(known, FloatFormat) or not known.has_nan:
            return "canonical"
        codes: Sequence[int] = () if known.nan == "ieee" else known.nan
        if not codes:
            codes = [(known.infinity_magnitude or 0) + frac for frac in (1, (1 << known.fraction_bits) - 1)]
        return self.stream.choice(codes) << known.padding

    def _order(self, groups: int, lanes: int) -> Keys:
        """An order of products: groups by the index modulo the number of groups times some lanes."""
        width = self.stream.choice([count for count in range(1, lanes + 1) if lanes % count == 0])
        indices = list(range(groups * width))
        self.stream.shuffle(indices)
        return {
            "modulo": len(indices),
            "groups": [indices[first : first + width] for first in range(0, len(indices), width)],
        }

    def _scale(self, keys: Keys, lanes: int, after: str) -> None:
        stream, formats = self.stream, self.formats
        places = ["product", "product"]
        places += ["subgroup", "subgroup"] if keys["sum"]["method"] != "even-odd" else []
        place = stream.choice([*places, *(["promotion", "promotion"] if after == "promotion" else [])])
        lengths = [count for count in range(1, lanes + 1) if lanes % count == 0] + [lanes * 2, lanes * 3, lanes * 6]
        fmt = formats.power if place == "product" else stream.choice((formats.any, lambda: "f32", lambda: "ue4m3"))
        rows = stream.choice((1, 1, 2))
        keys["scale"] = {
            "a": {"format": fmt(), "block": [rows, stream.choice(lengths)]},
            "b": {"format": fmt(), "block": [stream.choice(lengths), rows]},
            **({} if place == "product" and stream.random() < 0.5 else {"at": place}),
        }
        if place == "subgroup":
            windows = keys["sum"]["method"] == "aligned" and stream.random() < 0.4
            keys["sum"]["subgroup"] = self._subgroup(lanes, own=windows)

    def _subgroup(self, lanes: int, *, own: bool) -> Keys:
        """Keys for sums of parts of a group. own: in windows of their own, or exact."""
        stream = self.stream
        keys: Keys = {"lanes": stream.choice([count for count in range(1, lanes + 1) if lanes % count == 0])}
        keys |= self._some(0.4, cancelled="count")
        if not own:
            return keys | {"method": "exact", "exponent": "scales"}
        return keys | {"method": "aligned", "fraction_bits": self._bits(), **self._some(0.8, lost=stream.choice(LOST))}

    def _late(self, keys: Keys) -> None:
        stream, some = self.stream, self._some
        keys["sum"]["addend"] = "late"
        keys["instruction"]["start"] = "zero"
        if keys["sum"]["method"] in ("aligned", "even-odd") and stream.random() < 0.5:
            keys["late"] = {
                "operation": "window", "sum_bits": self._bits(), "addend_bits": self._bits(),
                "lost": stream.choice(LOST), **some(0.3, drop_below=stream.randint(0, 30)),
                **some(0.3, zero_addend="count"), **some(0.3, total_bits=self._bits()),
            }  # fmt: skip
        else:
            keys["late"] = {
                "operation": "add", "format": self.formats.register(), "rounding": stream.choice(ROUNDINGS),
                **self._flush(0.4, flush=True),
            }  # fmt: skip


TEXTS = ("unit", "summary", "evidence", "source")
Setting = tuple[str, str]


def settings(drawn: DrawnUnit) -> list[Setting]:
    """The value of every key of a unit, defaults too, and of its pipeline; numbers by their binades."""
    keys = unit_settings(drawn.unit)
    keys += [("pipeline.cuts", _binade(len(drawn.pipeline.cuts))), ("pipeline.contexts", str(drawn.pipeline.contexts))]
    keys += [("pipeline.register_ready", str(drawn.pipeline.register_ready).lower())]
    return keys


def unit_settings(unit: Unit) -> list[Setting]:
    """The value of every key of a unit, defaults too; numbers by their binades."""
    return [(path, _label(path, value)) for path, value in _leaves(unit.model_dump(mode="json")) if path not in TEXTS]


def counted_settings(drawn: Iterable[Iterable[Setting]]) -> dict[str, Counter[str]]:
    """The number of times that each value of each key was drawn; 0 for words that never were."""
    counts: dict[str, Counter[str]] = {}
    for key in spec_keys():
        if key.path not in TEXTS:
            counts[key.path] = Counter({_word(choice): 0 for choice in key.choices})
    for unit_settings in drawn:
        for path, value in unit_settings:
            counts.setdefault(path, Counter())[value] += 1
    return {path: values for path, values in counts.items() if values}


def _leaves(data: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        path = f"{at}.{key}" if at else key
        inside = isinstance(value, Mapping) and "kind" not in value and key != "order"
        if path in ("scale.a", "scale.b") and value is not None:
            yield f"{path}.format", value["format"]
            yield f"{path}.block", value["block"][1 if path == "scale.a" else 0]
        elif inside:
            yield from _leaves(value, path)
        else:
            yield path, value


def _label(path: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"own {value['kind']}" if "kind" in value else "modulo"
    if isinstance(value, int) and not isinstance(value, bool):
        return "a code" if path == "result.nan" else _binade(value)
    return _word(value)


def _word(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _binade(value: int) -> str:
    if abs(value) < 2:
        return str(value)
    low = 1 << abs(value).bit_length() - 1
    ends = (low, 2 * low - 1) if value > 0 else (-2 * low + 1, -low)
    return f"{ends[0]}..{ends[1]}"
