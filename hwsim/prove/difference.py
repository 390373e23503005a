"""Whether two units return the same for every input: a proof, the simplest input on which they do not, or neither."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cases.case import Case, batches
from hwsim.cases.selection import among_zeros
from hwsim.compute.gemm import gemm
from hwsim.explain.beside import BesideLine, beside
from hwsim.explain.explained import Explained, explain
from hwsim.explain.mismatches import explain_command, reading
from hwsim.explain.readings import normal_forms, own_reading
from hwsim.explain.readings import supports as has_readings
from hwsim.formats import FixedFormat
from hwsim.formats.codes import container_dtype
from hwsim.prove.apart import CaseSearch, UnitPair
from hwsim.spec import AlignedSum, ExactSum, SparseLike, SparseUnit, Unit, UnitLike, load_pair
from hwsim.spec.fields import SAYINGS
from hwsim.study.accuracy.exact import DoubleDouble
from hwsim.study.accuracy.measures import ulps

SECONDS = 60.0
FIRST, FURTHER = 16, 64  # batches of cases before proofs are tried; those after which the clock is looked at
Verdict = Literal["same", "differ", "not decided"]


@dataclass(frozen=True)
class DataDifference:
    """Two units' results of a matrix product.

    differ, results: how many differ, of how many. nonfinite: how many of these are not finite in one unit or both.
    largest_ulp: of the first unit's result format at the larger result; largest_relative: to it; both of finite
    results, 0 without any. where: the place of the largest in ulp, or of the first that is not finite; empty for none.
    at: both results there.
    """

    differ: int
    results: int
    nonfinite: int
    largest_ulp: float
    largest_relative: float
    where: tuple[int, ...] = ()
    at: tuple[float, ...] = ()


@dataclass(frozen=True)
class UnitDifference:
    """Whether two units return the same: `print` it for what is known.

    verdict: `same` only with a proof. products: the numbers of products of one sum that it is about, in words.
    proof: the argument; empty without one. case: the simplest case found on which they differ, or None; codes: both
    results. tried: cases. notes: what was tried, and what is not compared. data: of a matrix product, or None. called:
    the units' names or paths, as commands take them. sparse: of sparse units, whose dense ones `first` and `second`
    are; else empty. Products are then those that are kept.
    """

    first: Unit
    second: Unit
    verdict: Verdict
    products: str
    proof: str = ""
    case: Case | None = None
    codes: tuple[int, int] | None = None
    tried: int = 0
    notes: tuple[str, ...] = ()
    data: DataDifference | None = None
    called: tuple[str, str] = ("", "")
    sparse: tuple[SparseUnit, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Both units' names."""
        return tuple(unit.name for unit in self.sparse or (self.first, self.second))

    @property
    def same(self) -> bool:
        """True only with a proof."""
        return self.verdict == "same"

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The verdict, and what it stands on, in lines."""
        names = " and ".join(self.names)
        match self.verdict:
            case "same":
                return [
                    f"{names} return the same for every input, in {self.products}",
                    f"proved: {self.proof}",
                    *self._more,
                ]
            case "differ":
                return [f"{names} differ, in {self.products}", *self._shown, *self._more]
            case _:
                return [f"{names}: not decided, in {self.products}: no difference in {self.tried:,} cases", *self._more]

    @property
    def _shown(self) -> Iterator[str]:
        if self.case is None or self.codes is None:
            return
        nonzero = sum(bool(a or b) for a, b in zip(self.case.a, self.case.b, strict=True))
        yield f"simplest of {self.tried:,} cases: {counted(nonzero, 'product')} other than zero, K = {len(self.case.a)}"
        for name, unit, code in zip(self.names, (self.first, self.second), self.codes, strict=True):
            shown = reading(unit.output, code)
            yield f"  {name}: {shown.code} = {shown.value} ({unit.output.name})"
        case = among_zeros(self.sparse[0].sparsity, self.case) if self.sparse else self.case
        for name, unit, called in zip(self.names, (self.first, self.second), self.called, strict=True):
            if command := explain_command(unit, called or name, case):
                yield f"  {command}"

    @property
    def _more(self) -> list[str]:
        return [*([] if self.data is None else data_lines(self)), *self.notes]

    def explained(self) -> tuple[Explained, Explained] | None:
        """Both units' records of the case; None without one."""
        if self.case is None:
            return None
        case = self.case
        c = case.c if self.first.operands.addend is not None else None
        scales = (case.scale_a or None, case.scale_b or None)
        first, second = (explain(unit, case.a, case.b, c, *scales) for unit in (self.first, self.second))
        return first, second

    def beside(self) -> list[BesideLine]:
        """Both records beside each other; nothing without a case."""
        records = self.explained()
        return [] if records is None else beside(*records)

    def as_json(self) -> dict[str, Any]:
        """All of it, as numbers, texts and lists."""
        return {
            "first": self.names[0], "second": self.names[1], "verdict": self.verdict, "products": self.products,
            "proof": self.proof, "tried": self.tried, "case": None if self.case is None else _sparse(self.case),
            "codes": None if self.codes is None else [hex(code) for code in self.codes],
            "data": None if self.data is None else asdict(self.data), "notes": list(self.notes),
        }  # fmt: skip


def _sparse(case: Case) -> dict[str, Any]:
    """A case without its products of zero: `products` has the place, and both codes, of each other one."""
    lanes = enumerate(zip(case.a, case.b, strict=True))
    products = [{"index": lane, "a": hex(a), "b": hex(b)} for lane, (a, b) in lanes if a or b]
    scales = {name: [hex(code) for code in getattr(case, name)] for name in ("scale_a", "scale_b")}
    return {"k": len(case.a), "products": products, "c": hex(case.c), **{key: of for key, of in scales.items() if of}}


def data_lines(difference: UnitDifference) -> Iterator[str]:
    """What is known of the matrix product, in lines."""
    data, fmt = difference.data, difference.first.output.name
    if data is None:
        return
    share = 100 * data.differ / data.results if data.results else 0.0
    yield f"on the data {data.differ:,} of {data.results:,} results differ ({share:.3g} %)"
    if data.differ - data.nonfinite:
        yield f"  by at most {data.largest_ulp:g} ulp of {fmt}, and {data.largest_relative:.3g} of the larger result"
    if data.nonfinite:
        yield f"  {data.nonfinite:,} of them are not finite in one or both"
    if data.where:
        yield f"  worst at {list(data.where)}: {data.at[0]:.9g} and {data.at[1]:.9g}"


def quiet(what: str) -> None:
    """Tell nobody what is asked now."""


def diff(
    first: UnitLike | SparseLike, second: UnitLike | SparseLike, a: Any = None, b: Any = None, c: Any = None,
    scale_a: Any = None, scale_b: Any = None, *, metadata: Any = None,
    products: int | tuple[int, int | None] | None = None, seconds: float = SECONDS, seed: int = 1,
    at: Callable[[str], None] | None = None,
) -> UnitDifference:  # fmt: skip
    """Whether two units return the same for every input of every length.

    first, second: units of the same factors, addend and scales; or sparse ones that select alike, which return the same
    where their dense units do. a, b, c, scale_a, scale_b, metadata: a matrix product, as `hwsim.gemm` takes it, of
    which the difference is counted besides. products: of one sum, of sparse units those that are kept, a number or the
    least and the largest (None: any); all that both take unless given. seconds: of cases and solver, where nothing is
    found at once. seed: of cases. at: called with what is done next, in words.
    Raises InputError for units of other operands or scales, and for sparse ones that select differently.
    """
    at = at or quiet
    one, other, sparse = load_pair(first, second)
    least, most = (products, products) if isinstance(products, int) else products or (1, None)
    pair = UnitPair(one, other, least, most, sparse[0].sparsity.kept if sparse else 1)
    called = (_called(first), _called(second))
    found = replace(_Decision(pair, seconds, seed, at).made(), called=called, sparse=sparse)
    if a is None and b is None:
        return found
    factors = {"a": a, "b": b, **({"metadata": metadata} if sparse else {})}
    for name in (name for name, given in factors.items() if given is None):
        raise InputError(f"{name} is missing: a matrix product has both factors{' and metadata' if sparse else ''}")
    if metadata is not None and not sparse:
        raise InputError(f"metadata must not be given: {one.name} is dense")
    given = (c, scale_a, scale_b)
    results = [gemm(unit, a, b, *given, metadata=metadata) for unit in sparse or pair.units]
    return replace(found, data=on_data(pair, *results))


def _called(given: UnitLike | SparseLike) -> str:
    return str(given) if isinstance(given, (str, Path)) else ""


class _Decision:
    def __init__(self, pair: UnitPair, seconds: float, seed: int, at: Callable[[str], None]):
        self.pair, self.seconds, self.at = pair, seconds, at
        self.search, self.notes = CaseSearch(pair, seed), [f"not compared: {part}" for part in pair.left_out]
        self.end = time.monotonic() + seconds
        self.promised = _as_promised(pair)

    def made(self) -> UnitDifference:
        """The answer: the first of a proof that costs nothing, cases, proofs, further cases and the solver."""
        first, second = map(arithmetic, self.promised.units)
        if first == second:
            return self._same("both files say the same arithmetic")
        if proof := same_without_groups(self.promised):
            return self._same(proof)
        self.at("cases")
        if found := self.search.drawn(FIRST):
            return self._differ(found)
        for argument in (self._by_bounds, self._by_structure):
            if proof := argument():
                return self._same(proof)
        self.at("directed cases")
        if found := self.search.directed():
            return self._differ(found)
        self.at("the solver")
        answer = self._by_solver((self.end - time.monotonic()) / 2)
        if isinstance(answer, Case):
            return self._differ([answer])
        if answer:
            return self._same(answer)
        self.at("further cases")
        while time.monotonic() < self.end:
            if found := self.search.drawn(FURTHER):
                return self._differ(found)
        return UnitDifference(
            *self.pair.units, "not decided", self._products, tried=self.search.tried, notes=self._notes
        )

    @property
    def _products(self) -> str:
        """The lengths that are compared, in words."""
        least, most = self.pair.shortest, self.pair.most
        if most is None:
            return (
                "sums of any number of products" if least == self.pair.block else f"sums of {least} products and more"
            )
        most -= most % self.pair.block
        return f"sums of {counted(most, 'product')}" if least == most else f"sums of {least} to {most} products"

    @property
    def _notes(self) -> tuple[str, ...]:
        return tuple(self.notes)

    def _same(self, proof: str) -> UnitDifference:
        return UnitDifference(
            *self.pair.units, "same", self._products, proof=proof, tried=self.search.tried, notes=self._notes
        )

    def _differ(self, found: list[Case]) -> UnitDifference:
        self.at("the simplest case")
        case = self.pair.trimmed(self.search.simplest(found))
        (batch,) = batches(self.pair.first, [case])
        first, second = (int(codes[0]) for codes in self.pair.results(batch))
        return UnitDifference(
            *self.pair.units, "differ", self._products, case=replace(case, id="simplest"), codes=(first, second),
            tried=self.search.tried, notes=self._notes,
        )  # fmt: skip

    # Proofs.

    def _by_bounds(self) -> str:
        return same_by_bounds(self.promised)

    def _by_structure(self) -> str:
        if not self._solver_is_there():
            return ""
        from hwsim.prove.alike import same_structure
        from hwsim.prove.composition import Unmet

        try:
            same_structure(self.promised)
        except Unmet as error:
            self.notes.append(f"not proved by the model's run on unknown values: {error}")
            return ""
        return "the model, run on unknown values, makes both results by the same calls, from every state of a sum"

    def _by_solver(self, seconds: float) -> str | Case:
        if not self._solver_is_there():
            return ""
        from hwsim.prove.alike import same_by_solver
        from hwsim.prove.composition import Unmet

        try:
            return same_by_solver(self.promised, seconds)
        except Unmet as error:
            self.notes.append(f"not decided by the solver: {error}")
            return ""

    def _solver_is_there(self) -> bool:
        if find_spec("bitwuzla") is not None:
            return True
        missing = "proofs on unknown values need the extra `prove`, which is not installed"
        self.notes += [missing] if missing not in self.notes else []
        return False


def arithmetic(unit: Unit) -> dict[str, Any]:
    """What a unit says beside its words."""
    return unit.model_dump(mode="json", exclude=SAYINGS)


def _as_promised(pair: UnitPair) -> UnitPair:
    """The units, of which neither promises a NaN's bits where one does not: these decide nothing else."""
    if all(unit.result.nan != "any" for unit in pair.units):
        return pair
    first, second = (
        unit.model_copy(update={"result": unit.result.model_copy(update={"nan": "any"})}) for unit in pair.units
    )
    return replace(pair, first=first, second=second)


def same_by_bounds(pair: UnitPair) -> str:
    """Why two units with one window are the same by bounds on their stages; empty without such a proof.

    Both have one normal form as readings (hwsim/explain/readings.py), and no other key differs that counts there.
    """
    if not all(isinstance(unit.sum, AlignedSum) and has_readings(unit) and own_reading(unit) for unit in pair.units):
        return ""
    forms = []
    for unit in pair.units:
        own = own_reading(unit)
        assert own is not None
        forms.append(normal_forms(unit)[own])
    if forms[0].reading != forms[1].reading:
        return ""
    lossless = forms[0].reading.lost == "exact" and not forms[0].reading.two
    dumps = [arithmetic(unit) for unit in pair.units]
    for dump in dumps:
        del dump["sum"]["lost"]
        if lossless:
            del dump["sum"]["fraction_bits"]
    if dumps[0] != dumps[1]:
        return ""
    return "; ".join(dict.fromkeys([*forms[0].reasons, *forms[1].reasons]))


def same_without_groups(pair: UnitPair) -> str:
    """Why two units are the same because sums are exact, whatever the groups; empty without such a proof.

    A sum that is rounded where it leaves its register does not depend on its groups: NaNs and infinities outlast them,
    and a sum of zero is +0. Nor does one that wraps round, in a format that holds every product and addend: it is the
    exact sum modulo a power of two, of every group and of all.
    """
    dumps = [_without_groups(unit, pair.most is not None) for unit in pair.units]
    if None in dumps or dumps[0] != dumps[1]:
        return ""
    if _only_grows(pair.first):
        return "no product is negative, so that a sum that saturates after each group is the whole one, saturated"
    if all(_wraps(unit) for unit in pair.units):
        return "sums that wrap round are the exact sum modulo a power of two, however products are grouped"
    return "exact sums that are rounded once, at the end, do not depend on how products are grouped"


def _without_groups(unit: Unit, limited: bool) -> dict[str, Any] | None:
    """A unit's arithmetic without its groups; None where these count. limited: whether K ends within an instruction."""
    rule, wraps = unit.sum, _wraps(unit) or _only_grows(unit)
    if not isinstance(rule, ExactSum) or rule.subgroup is not None or rule.zero != "positive":
        return None
    if unit.late is not None or unit.promotion is not None or unit.instruction.start != "addend":
        return None
    if rule.rounded == "group" and not wraps:
        return None
    said = arithmetic(unit)
    for name in ("k", "lanes", "order", *(["chain"] if limited else [])):
        del said["instruction"][name]
    if wraps:
        del said["sum"]["rounded"], said["result"]["rounding"]
    return said


def _only_grows(unit: Unit) -> bool:
    """True if sums saturate, and no product is negative: both of fixed numbers whose last places the result holds."""
    addend, fmt = unit.operands.addend, unit.result.format
    factors = unit.operands.multiplied
    unsigned = all(isinstance(one, FixedFormat) and not one.signed for one in factors)
    return unsigned and unit.result.overflow == "saturate" and addend in (None, fmt) and _on_its_grid(unit)


def _wraps(unit: Unit) -> bool:
    """True if the result is the exact sum modulo a power of two."""
    return unit.result.overflow == "wrap" and _on_its_grid(unit)


def _on_its_grid(unit: Unit) -> bool:
    """True if the result is fixed, and every term is a multiple of its last place."""
    fmt, addend = unit.result.format, unit.operands.addend
    if not isinstance(fmt, FixedFormat) or unit.scale is not None:
        return False
    factors = unit.operands.multiplied
    if not all(isinstance(one, FixedFormat) for one in (*factors, *([] if addend is None else [addend]))):
        return False
    places = sum(factor.fraction_bits for factor in factors), 0 if addend is None else addend.fraction_bits
    return max(places) <= fmt.fraction_bits


# Of matrices.


def on_data(pair: UnitPair, *results: NDArray[Any]) -> DataDifference:
    """How often two units' results of a matrix product differ, and by how much."""
    codes = [
        np.ravel(result.view(container_dtype(unit.output))) for unit, result in zip(pair.units, results, strict=True)
    ]
    at = np.flatnonzero(pair.apart(*codes))
    first, second = (
        np.asarray(unit.output.decode(side[at]), np.float64) for unit, side in zip(pair.units, codes, strict=True)
    )
    finite = np.isfinite(first) & np.isfinite(second)
    larger, errors = _larger(first[finite], second[finite]), np.abs(first[finite] - second[finite])
    in_ulp = errors / ulps(pair.first.output, DoubleDouble.of(larger))
    relative = np.divide(errors, np.abs(larger), out=np.zeros_like(errors), where=larger != 0)
    worst = None
    if not finite.all():
        worst = int(np.flatnonzero(~finite)[0])
    elif at.size:
        worst = int(in_ulp.argmax())
    return DataDifference(
        differ=int(at.size),
        results=int(codes[0].size),
        nonfinite=int((~finite).sum()),
        largest_ulp=float(in_ulp.max(initial=0.0)),
        largest_relative=float(relative.max(initial=0.0)),
        where=() if worst is None else tuple(map(int, np.unravel_index(int(at[worst]), results[0].shape))),
        at=() if worst is None else (float(first[worst]), float(second[worst])),
    )


def _larger(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(first) >= np.abs(second), first, second)
