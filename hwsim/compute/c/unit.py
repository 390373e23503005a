"""A unit as the templates see it: its formats, arithmetic and calls, DPI-C functions, and operands of the examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from math import lcm
from typing import Literal, NamedTuple, assert_never, get_args

from hwsim.compute.c.sums import FARTHEST, LONGEST, adds, sized, supports
from hwsim.compute.c.tables import TableSide, table_rows, table_sides
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.formats.blocks import one_code
from hwsim.spec import (
    AlignedSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    Lost,
    PairwiseSum,
    RoundedSum,
    Rounding,
    SequentialSum,
    SparseUnit,
    Unit,
    WindowSum,
    as_yaml,
)
from hwsim.spec.keys import LOST_RULES, Overflow, Tininess
from hwsim.spec.parts import Order, ScaledPromotion
from hwsim.spec.ranges import Span, span_of

# Headers that the files of an export include.
INCLUDED = {"stdint", "stdio", "string", "svdpi"}


def identifier(name: str) -> str:
    """A name as an identifier of C and C++: each run of other characters is an underscore, removed at either end.

    `unit_` is put before a name that begins with a digit or with `u_`, which templates use, and before the name of a
    header that the files include.
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return f"unit_{plain}" if re.match(r"\d|[uU]_", plain) or plain.lower() in INCLUDED else plain


def format_names(formats: Iterable[Format]) -> dict[Format, str]:
    """An identifier for each format; equal identifiers are numbered from the second on."""
    names: dict[Format, str] = {}
    for fmt in formats:
        if fmt in names:
            continue
        plain, count = identifier(fmt.name), 1
        name = plain
        while name in names.values():
            count += 1
            name = f"{plain}_{count}"
        names[fmt] = name
    return names


def code_type(fmt: Format) -> str:
    """The type of C that holds a code."""
    return f"uint{8 if fmt.container_bits <= 8 else 16 if fmt.container_bits <= 16 else 32}_t"


def is_nan(fmt: Format) -> str:
    """The condition that a code is NaN, as an expression of C; empty where none is."""
    if isinstance(fmt, FixedFormat | TableFormat) or not fmt.has_nan:
        return ""
    if isinstance(fmt, ExponentFormat):
        code, top = f"(code & 0x{(1 << fmt.bits) - 1:X}u)", (1 << fmt.bits) - 1
        ends = [f"{code} < 0x{fmt.min_code:X}u"] * (fmt.min_code > 0)
        return " || ".join([*ends, *[f"{code} > 0x{fmt.max_code:X}u"] * (fmt.max_code < top)])
    # All codes above the largest number except infinity are NaN, and possibly negative zero's.
    last = fmt.max_magnitude if fmt.infinity_magnitude is None else fmt.infinity_magnitude
    conditions = [f"magnitude > 0x{last:X}u"] * (last < fmt.sign_bit - 1)
    if fmt.signed and fmt.is_nan(fmt.sign_bit):
        shifted = f"code >> {fmt.padding}" if fmt.padding else "code"
        conditions.append(f"({shifted} & 0x{2 * fmt.sign_bit - 1:X}u) == 0x{fmt.sign_bit:X}u")
    return " || ".join(conditions)


class NamedFormat(NamedTuple):
    """A format, its identifier, and what makes a code NaN."""

    fmt: Format
    name: str
    nan: str

    @property
    def title(self) -> str:
        return f"{self.fmt.name}{': ' if self.fmt.summary else ''}{self.fmt.summary}"


Mode = Literal["rz", "rd", "ru", "rto", "rne", "rna", "ones"]


class CutMode(NamedTuple):
    """A rule for the bits that a shift cuts off.

    words: for the header's reader. narrow, wide: when 1 is added to the magnitude that is kept, as an expression of C
    on an integer, and on words of 32 bits; empty for never.
    """

    name: Mode
    words: str
    narrow: str
    wide: str


def cut_mode(mode: Mode) -> CutMode:
    """A mode with its expressions of C."""
    match mode:
        case "rz":
            return CutMode(mode, "magnitudes are cut off", "", "")
        case "rd":
            return CutMode(mode, "numbers are rounded down", "sign & (lost_bits != 0)", "sign && rest")
        case "ru":
            return CutMode(mode, "numbers are rounded up", "!sign & (lost_bits != 0)", "!sign && rest")
        case "rto":
            jam = "a lost 1 is OR-ed into the last bit"
            return CutMode(mode, jam, "!(kept & 1) & (lost_bits != 0)", "rest && !(kept.word[0] & 1)")
        case "rna":
            away = "to nearest, ties away from zero"
            return CutMode(mode, away, "(lost_bits >= half) & (lost_bits != 0)", "rest > 1")
        case "rne":
            narrow = "(lost_bits > half) | ((lost_bits == half) & (lost_bits != 0) & (kept & 1))"
            wide = "rest == 3 || (rest == 2 && (kept.word[0] & 1))"
            return CutMode(mode, "to nearest, ties to even", narrow, wide)
        case "ones":
            ones = "magnitudes are cut off, and a negative number's is one more"
            return CutMode(mode, ones, "sign & (sig != 0)", "sign && !u_is_zero(sig)")
        case _:
            assert_never(mode)


def mode_of(lost: Lost) -> Mode:
    """The mode of a rule for lost bits."""
    match lost:
        case "truncate" | "floor" | "ceil" | "jam" | "rne" | "rna":
            return LOST_RULES[lost].rounding
        case "ones-complement":
            return "ones"
        case _:
            assert_never(lost)


def modes(lost: list[Lost], rounding: Rounding | None = None) -> tuple[CutMode, ...]:
    """The modes that a unit needs, in the order of their names. rounding: of a result in a fixed format."""
    names: set[Mode] = {mode_of(rule) for rule in lost} | ({rounding} if rounding is not None else set())
    return tuple(cut_mode(name) for name in sorted(names))


ROUNDINGS: tuple[str, ...] = get_args(Rounding)

SV_TYPES = {"uint8_t": "byte unsigned", "uint16_t": "shortint unsigned", "uint32_t": "int unsigned"}
C_TYPES = {"int unsigned": "uint32_t ", "bit": "svBit ", "longint": "long long "}
# Operands of the examples: a and b cycle through these numbers, and c.
NUMBERS_A, NUMBERS_B, NUMBER_C = (0.0, 0.5, 1.0, 1.5), (1.0, 0.0, -1.0), 0.75
PRODUCTS = 8  # of an example, at least


class UnitInC:
    """One unit, as the templates see it.

    version: hwsim's. sparse: the sparse unit whose dense one `u` is, if any. formats: each once. encoded: the inputs'
    formats, which numbers are rounded to.
    Raises NotImplementedYet for a unit that the model lacks, or that needs integers too wide for C.
    """

    def __init__(self, given: Unit | SparseUnit, version: str):
        self.sparse = given if isinstance(given, SparseUnit) else None
        unit = given.dense if isinstance(given, SparseUnit) else given
        supports(unit).demand()
        self.name, self.summary = given.name, given.summary
        self.u, self.version, self.prefix = unit, version, identifier(given.name)
        self.yaml = as_yaml(given).rstrip().splitlines()
        self.group, self.sizes = sized(unit)
        operands, scale = unit.operands, unit.scale
        scales = {} if scale is None else {"scale_a": scale.a.format, "scale_b": scale.b.format}
        self.code_types = {side: code_type(fmt) for side, fmt in {"a": operands.a, "b": operands.b, **scales}.items()}
        inputs = [operands.a, operands.b, operands.addend, *scales.values()]
        sum_format = unit.sum.format if isinstance(unit.sum, RoundedSum) else None
        formats = [*inputs, sum_format, unit.result.format, unit.output]
        self.names = format_names(fmt for fmt in formats if fmt is not None)
        self.formats = [NamedFormat(fmt, name, is_nan(fmt)) for fmt, name in self.names.items()]
        self.encoded = [named for named in self.formats if named.fmt in inputs]
        self.floats = [named for named in self.formats if isinstance(named.fmt, FloatFormat)]

    def encodes(self, kind: str) -> bool:
        """True if numbers are encoded to a format of a kind."""
        return any(named.fmt.kind == kind for named in self.encoded)

    def is_float(self, name: str) -> bool:
        """True if the format with an identifier is a float."""
        return any(named.name == name for named in self.floats)

    def _bare(self, underflow: str) -> bool:
        formats = (named.fmt for named in self.floats)
        return any(not fmt.subnormals and fmt.underflow == underflow for fmt in formats)  # type: ignore[union-attr]

    @cached_property
    def bare_zero(self) -> bool:
        """True if any format has no subnormals, and rounds numbers below its least to zero."""
        return self._bare("zero")

    @cached_property
    def bare_nearby(self) -> bool:
        """True if any format has no subnormals, and rounds numbers below its least to a neighbour."""
        return self._bare("nearby")

    @property
    def bare(self) -> bool:
        """True if any format has no subnormals."""
        return self.bare_zero or self.bare_nearby

    @property
    def subnormal_f64(self) -> bool:
        """True if any number is so small that it is subnormal in binary64."""
        return any(span_of(named.fmt).least_exp < -1022 for named in self.formats)

    def _name(self, fmt: Format | None) -> str:
        return "" if fmt is None else self.names[fmt]

    @property
    def addend(self) -> str:
        return self._name(self.u.operands.addend)

    @property
    def result(self) -> str:
        """The format of a group's result."""
        return self._name(self.u.result.format)

    @property
    def output(self) -> str:
        """The format of what the unit returns."""
        return self._name(self.u.output)

    @property
    def sum_format(self) -> str:
        return self._name(self.u.sum.format if isinstance(self.u.sum, RoundedSum) else None)

    @property
    def scale_a(self) -> str:
        return self._name(None if self.u.scale is None else self.u.scale.a.format)

    @property
    def scale_b(self) -> str:
        return self._name(None if self.u.scale is None else self.u.scale.b.format)

    @property
    def scaling(self) -> ScaledPromotion | None:
        """The multiplications of a promotion; None where there are none."""
        return self.u.scaled_promotion

    def decoded(self, factor: tuple[str, Format]) -> str:
        """The fields of one of `scaling`, as an expression of C: what is made first is decoded already."""
        name, fmt = factor
        return name if self.scaling and name == self.scaling.made else f"u_{self._name(fmt)}_decode({name})"

    @staticmethod
    def fraction_bits_of(*factors: tuple[str, Format]) -> int:
        """The fraction bits of the factors together."""
        return sum(fmt.fraction_bits for _, fmt in factors)

    @property
    def terms(self) -> list[NamedFormat]:
        """The formats whose codes become terms: addends, partial sums, registers."""
        names = {self.addend, self.sum_format, self.result, self.output}
        return [fmt for fmt in self.formats if fmt.name in names]

    @property
    def result_float(self) -> bool:
        """True if a group's result is a float."""
        return isinstance(self.u.result.format, FloatFormat)

    @property
    def convert(self) -> Format | None:
        """The format that factors are converted to, if any."""
        return self.u.operands.convert

    @property
    def factors(self) -> list[tuple[str, str, Format]]:
        """The factors: side, identifier of the format, format."""
        operands = self.u.operands
        return [(side, self.names[fmt], fmt) for side, fmt in (("a", operands.a), ("b", operands.b))]

    # Integers.

    @property
    def integer_bits(self) -> int:
        """Bits of the integer that holds sums and shifted terms; 0 where there is none."""
        return self.sizes.bits

    @property
    def words(self) -> int:
        """Words of 32 bits in that integer; 0 where a type of C holds it."""
        return 0 if self.integer_bits <= 64 else -(-self.integer_bits // 32)

    @property
    def integer_type(self) -> str:
        """The type of C, without `_t`, that holds that integer, if any does."""
        return "int32" if self.integer_bits <= 32 else "int64"

    @property
    def shift_most(self) -> int:
        """The largest shift distance. Scaled sums of parts of an exact sum are shifted up alone."""
        return max((cut.shifted for cut in self.sizes.cuts), default=0) + 1

    @cached_property
    def cuts(self) -> tuple[CutMode, ...]:
        """The ways in which this unit cuts bits off."""
        late: list[Lost] = [self.u.late.lost] if isinstance(self.u.late, LateInWindow) else []
        return modes([*self.group.lost, *late], None if self.result_float else self.u.result.rounding)

    @property
    def other_modes(self) -> str:
        """The names of cut modes that are no rounding, as further elements of the enumeration of roundings."""
        return "".join(f", U_{cut.name.upper()}" for cut in self.cuts if cut.name not in ROUNDINGS)

    def cut(self, lost: Lost) -> str:
        """The last argument of an alignment: the cut mode, where the unit has several."""
        return f", U_{mode_of(lost).upper()}" if len(self.cuts) > 1 else ""

    @property
    def cut_result(self) -> str:
        """The cut mode as the last argument, for a result in a fixed format."""
        return f", U_{self.u.result.rounding.upper()}" if len(self.cuts) > 1 else ""

    @property
    def rounded_sum(self) -> RoundedSum | None:
        """The rule of rounded additions, where the method has them."""
        return self.u.sum if isinstance(self.u.sum, RoundedSum) else None

    @property
    def wide_additions(self) -> bool:
        """True if rounded additions take sums of parts that are wider than terms."""
        return self.rounded_sum is not None and self.group.unit_exp is not None

    @property
    def exact_terms(self) -> bool:
        """True if terms stand in the integer of exact sums."""
        return self.group.carries or self.wide_additions

    @property
    def exact_sums(self) -> bool:
        """True if the unit has exact sums of terms."""
        of_terms = self.group.unit_exp is not None and (not self.group.parts or self.wide_additions)
        return of_terms or self.group.part_exp is not None

    @property
    def cuts_sum(self) -> bool:
        """True if a window's sum loses places before it is rounded."""
        return isinstance(self.u.sum, AlignedSum) and self.u.sum.cut is not None

    @property
    def late_window(self) -> LateInWindow | None:
        """The rule of an addend that is added late in a window."""
        return self.u.late if isinstance(self.u.late, LateInWindow) else None

    @property
    def late_add(self) -> LateAdd | None:
        """The rule of an addend that is added late by one rounded addition."""
        return self.u.late if isinstance(self.u.late, LateAdd) else None

    # Products.

    @property
    def product(self) -> Span:
        """The products, with the scales that enter them."""
        return self.sizes.product

    @property
    def scaled_at(self) -> str:
        """The place where scales enter: product, subgroup, promotion; empty without any."""
        return self.u.scale.at if self.u.scale else ""

    @property
    def sig_bits(self) -> int:
        """The narrowest type of C for products' significands: 16, 32 or 64 bits."""
        bits = self.product.most.bit_length()
        return 16 if bits <= 16 else 32 if bits <= 32 else 64

    @property
    def infinite_factors(self) -> bool:
        """True if a factor can be infinite."""
        return bool(self.u.operands.a.infinities or self.u.operands.b.infinities)

    @property
    def nan_products(self) -> str:
        """The condition that a product is NaN, as an expression of C; empty where none is."""
        sides: dict[str, Format] = {"x": self.u.operands.a, "y": self.u.operands.b}
        if self.u.scale is not None and self.scaled_at == "product":
            sides |= {"v": self.u.scale.a.format, "w": self.u.scale.b.format}
        operands = [f"({name}.cls == U_NAN)" for name, fmt in sides.items() if fmt.has_nan]
        return " | ".join([*operands, *["(infinite & zero)"] * self.infinite_factors])

    @property
    def product_class(self) -> str:
        """The class of a product, as an expression of C."""
        infinite = ["infinite"] * self.infinite_factors + ["large"] * (self.u.sum.product_limit is not None)
        nan = "nan ? U_NAN : " if self.nan_products else ""
        return f"{nan}{' | '.join(infinite)}{' ? U_INFINITE : ' if infinite else ''}sig ? U_NORMAL : U_ZERO"

    @property
    def special_products(self) -> bool:
        """True if a product can be NaN or infinite."""
        return bool(self.nan_products) or self.infinite_factors or self.u.sum.product_limit is not None

    @property
    def product_limit(self) -> int:
        """`sum.product_limit`, limited to the exponents that can occur; 0 without one."""
        limit = self.u.sum.product_limit
        return 0 if limit is None else max(-FARTHEST, min(FARTHEST, limit))

    @property
    def drop_below(self) -> int:
        """`late.drop_below`, limited to the exponents that can occur; 0 without one."""
        below = None if self.late_window is None else self.late_window.drop_below
        return 0 if below is None else max(-FARTHEST, min(FARTHEST, below))

    # The group.

    @property
    def group_addend(self) -> bool:
        """True if a group can add something to its products."""
        return adds(self.u)

    @property
    def absent(self) -> bool:
        """True if some groups have an addend and others do not."""
        return self.group_addend and self.u.operands.addend is None and self.u.restart is None

    def zero_sign(self, terms: str) -> str:
        """The sign of a group's sum of zero, as an expression of C."""
        if not self.group.zero_signs:
            return "0"
        many = "U_PARTS" if terms == "subgroups" else "U_LANES"
        signs = f"u_signs(s->{terms}.sign, {many})"
        if self.group_addend:
            signs += " | (addend.cls == U_ABSENT ? 0 : 1 << addend.sign)" if self.absent else " | 1 << addend.sign"
        return f"u_zero_sign({signs})"

    @property
    def late_zero_sign(self) -> str:
        """The sign of a sum of zero after a late addition in a window, as an expression of C."""
        if not self.group.zero_signs:
            return "0"
        addend_sign = " | 1 << group->addend.sign" if self.group_addend else ""
        many = "subgroups.sign, U_PARTS" if self.group.parts else "products.sign, U_LANES"
        return f"u_zero_sign(u_signs(group->{many}){addend_sign} | 1 << addend.sign)"

    # The result.

    @property
    def adds(self) -> bool:
        """True if the unit has rounded additions of two terms."""
        return self.rounded_sum is not None or self.late_add is not None or self.u.promotion is not None

    @staticmethod
    def overflow_name(overflow: Overflow) -> str:
        """The name in C of what replaces a number that is too large, or infinite."""
        match overflow:
            case "infinity":
                return "U_TO_INFINITY"
            case "nan":
                return "U_TO_NAN"
            case "saturate":
                return "U_SATURATE"
            case "propagate":
                return "U_PROPAGATE"
            case "ieee":
                return "U_IEEE"
            case "wrap":
                raise ValueError("a float format does not wrap")
            case _:
                assert_never(overflow)

    @staticmethod
    def flush_name(flush: Tininess | None) -> str:
        """The name in C of what makes a number zero by being subnormal."""
        return "U_KEEP" if flush is None else f"U_FLUSH_{flush.upper()}"

    @property
    def group_nan(self) -> int:
        """The container's code of a group's NaN."""
        fmt, rule = self.u.result.format, self.u.result.nan
        if isinstance(fmt, FixedFormat):
            return 0
        return rule if isinstance(rule, int) else fmt.canonical_nan or 0

    @property
    def own_nan(self) -> bool:
        """True if a group's NaN is not the result format's own, which a rounding gives."""
        return self.group_nan != (self.u.result.format.canonical_nan or 0)

    @property
    def other_nan(self) -> bool:
        """True if the unit returns another NaN than late additions do."""
        fmt = self.u.output
        return isinstance(fmt, FloatFormat) and self.u.nan != fmt.canonical_nan

    def parameters(self, scales: bool) -> str:
        """Parameters that point to the codes of both factors and, if asked for, of both scales."""
        names = ["a", "b", *(["scale_a", "scale_b"] if scales else [])]
        return ", ".join(f"const {self.code_types[name]} *{name}" for name in names)

    @property
    def group_scales(self) -> bool:
        """True if scales enter inside a group."""
        return self.scaled_at in ("product", "subgroup")

    @property
    def dot_parameters(self) -> str:
        """The parameters of a whole dot product that come before the number of products."""
        parts = self.parameters(self.u.scale is not None).split(", ")
        return ", ".join([*parts[:2], *["uint32_t c"] * (self.u.operands.addend is not None), *parts[2:]])

    @property
    def sparse_parameters(self) -> str:
        """The parameters of a sparse dot product that come before the number of factors that are kept."""
        first, second, *rest = self.dot_parameters.split(", ")
        return ", ".join([first, second, "const uint8_t *metadata", *rest])

    @property
    def arguments(self) -> str:
        """The names of a group's parameters."""
        return "a, b, scale_a, scale_b" if self.group_scales else "a, b"

    @property
    def state_words(self) -> str:
        """The number that an unfinished dot product keeps as its result, in words."""
        if self.u.promotion:
            return "the promotion register"
        first = "c, then " if self.u.operands.addend else ""
        return first + ("the sum with it" if self.u.late else "that of the last group")

    @property
    def step_words(self) -> str:
        """The roundings of a rounded sum in the order of its steps, in words."""
        rule = self.u.sum
        product = "each product, rounded, " if isinstance(rule, RoundedSum) and rule.product == "rounded" else ""
        match rule:
            case SequentialSum():
                return f"codes: the addend, rounded; then {product and product + 'and '}the sum with each product"
            case PairwiseSum():
                last = "the addend, rounded; the sum" if self.group_addend else "the sum, rounded"
                first = product and product.rstrip() + " then "
                if rule.chains is not None:
                    first = f"{product and product + 'and '}the sum of its chain with each product; "
                return f"codes: {first}the tree, level by level; {last}"
            case WindowSum() | ExactSum():
                return ""
            case _:
                assert_never(rule)

    @property
    def late_call(self) -> str:
        """The call that adds a late addend after an instruction's last group."""
        chain = f"s->groups > {self.u.instruction.groups}"
        if self.late_window is not None:
            return f"u_add_in_window(s->result, {chain}, &s->stages, &s->late)"
        return f"u_add_late(s->result, {chain}, s->stages.rounded.code)"

    # Which products a dot product takes, and where.

    @property
    def order(self) -> Order | None:
        """The order of products, where it is not sequential."""
        order = self.u.instruction.order
        return order if isinstance(order, Order) else None

    @property
    def order_rows(self) -> str:
        """The lists of the order, as C initialises an array with them."""
        assert self.order is not None
        return ", ".join(f"{{{', '.join(map(str, sorted(group)))}}}" for group in self.order.groups)

    @property
    def gathers(self) -> bool:
        """True if a group's codes must be gathered, because they are not the next codes in memory."""
        instruction = self.u.instruction
        return self.order is not None or self.u.scale is not None or instruction.fill != instruction.lanes

    @property
    def group_count(self) -> str:
        """The number of groups in a dot product of k products, as an expression of C."""
        fill, lanes = self.u.instruction.fill, self.u.instruction.lanes
        times = f" * {fill // lanes}" if fill != lanes else ""
        return f"(k + {fill - 1}) / {fill}{times}"

    @property
    def takes(self) -> str:
        """The condition that the unit takes a dot product of k products, as an expression of C."""
        instruction, scale = self.u.instruction, self.u.scale
        rules = ["k >= 1"]
        if instruction.chain is None:
            rules.append("k <= U_K")
        elif self.group.carries and self.u.restart is None:
            rules.append(f"k <= (uint64_t)1 << {LONGEST}")
        if scale is not None:
            lengths = {scale.a.block[1], scale.b.block[0]} - {1}
            rules += [f"k % {length} == 0" for length in sorted(lengths)]
        return " && ".join(rules)

    @property
    def scale_blocks(self) -> tuple[int, int]:
        """The numbers of products that share a scale of a, and of b."""
        assert self.u.scale is not None
        return self.u.scale.a.block[1], self.u.scale.b.block[0]

    @property
    def ones(self) -> tuple[int, int]:
        """The codes of scales of 1, for lanes that hold no product."""
        assert self.u.scale is not None
        return one_code(self.u.scale.a.format), one_code(self.u.scale.b.format)

    @property
    def sv_types(self) -> dict[str, str]:
        """The SystemVerilog types that hold the codes of each operand."""
        return {side: SV_TYPES[kind] for side, kind in self.code_types.items()}

    # Functions: name, type returned, and parameters by their SystemVerilog types.

    def _functions(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        c = [("int unsigned", "c")]
        arrays = [(f"{kind}[]", side) for side, kind in self.sv_types.items()]
        dot = [*arrays[:2], *c * (self.u.operands.addend is not None), *arrays[2:]]
        functions = [("dot", "longint", dot)]
        if self.dpi_group:
            before = [("int unsigned", "partial"), ("bit", "chain")] if self.group_addend else []
            functions.append(("group", "int unsigned", [*self._vectors(), *c * self.first_takes_c, *before]))
        if self.dpi_after:
            codes = [("bit" if name == "chain" else "int unsigned", name) for name in self.dpi_after.split(", ")]
            functions.append(("promote" if self.u.promotion else "add_late", "int unsigned", codes))
        if self.sparse is not None:
            functions.append(("sparse_dot", "longint", [*dot[:2], ("byte unsigned[]", "metadata"), *dot[2:]]))
        return functions

    def _vectors(self) -> list[tuple[str, str]]:
        """The parameters of a group's codes: packed vectors, as wide as the fields of the RTL's beats."""
        u, lanes = self.u, self.u.instruction.lanes
        sides: list[tuple[str, Format, int]] = [("a", u.operands.a, lanes), ("b", u.operands.b, lanes)]
        if u.scale is not None and self.group_scales:
            for side, scale, length in zip(("a", "b"), (u.scale.a, u.scale.b), self.scale_blocks, strict=True):
                sides.append((f"scale_{side}", scale.format, -(-lanes // length)))
        return [(f"bit [{fmt.container_bits * count - 1}:0]", side) for side, fmt, count in sides]

    @property
    def dpi_imports(self) -> list[str]:
        """The SystemVerilog imports of the functions."""
        return [
            f'import "DPI-C" function {returned} {self.prefix}_dpi_{name}(\n'
            + ",\n".join(f"      input {_sv_parameter(*parameter)}" for parameter in parameters)
            + "\n  );"
            for name, returned, parameters in self._functions()
        ]

    @property
    def dpi_prototypes(self) -> list[str]:
        """The prototypes of the functions in C."""
        return [
            f"{C_TYPES[returned]}{self.prefix}_dpi_{name}("
            + ", ".join(_c_parameter(*parameter) for parameter in parameters)
            + ")"
            for name, returned, parameters in self._functions()
        ]

    @property
    def sv_parameters(self) -> list[str]:
        """The parameters of a dot product in SystemVerilog."""
        return [_sv_parameter(*parameter) for parameter in self._functions()[0][2]]

    @property
    def dpi_parameters(self) -> str:
        """The parameters of a dot product in C."""
        return ", ".join(_c_parameter(*parameter) for parameter in self._functions()[0][2])

    @property
    def dpi_group(self) -> bool:
        """True if there is a function for a group: its result must be a code, which the next group starts from."""
        return not self.group.carries and self.late_window is None

    @property
    def first_takes_c(self) -> bool:
        """True if the first group adds c."""
        return self.u.operands.addend is not None and self.u.restart is None and self.group_addend

    @property
    def dpi_after(self) -> str:
        """The arguments of a promotion or a rounded late addition; empty without either."""
        if self.u.promotion:
            return "promoted, partial, scale_a, scale_b" if self.scaled_at == "promotion" else "promoted, partial"
        return "addend, chain, partial" if self.late_add is not None else ""

    @property
    def dpi_scale_sizes(self) -> str:
        """The condition that an array of scales has a wrong size, as the end of an expression of C."""
        if self.u.scale is None:
            return ""
        lengths = zip(("a", "b"), self.scale_blocks, strict=True)
        return "".join(f" || (uint64_t)svSize(scale_{side}, 1) != k / {length}" for side, length in lengths)

    # Examples.

    @property
    def sample_k(self) -> int:
        """The number of products in an example."""
        step = lcm(*self.scale_blocks) if self.u.scale else 1
        return -(-min(PRODUCTS, self.u.instruction.k) // step) * step

    def sample_codes(self, side: str) -> str:
        """The code of an example's factor i, as an expression of SystemVerilog."""
        fmt, numbers = (self.u.operands.a, NUMBERS_A) if side == "a" else (self.u.operands.b, NUMBERS_B)
        codes = [_sv_code(fmt, number) for number in numbers]
        chosen = [f"i % {len(codes)} == {index} ? {code} : " for index, code in enumerate(codes[:-1])]
        return "".join(chosen) + codes[-1]

    @property
    def table_rows(self) -> Callable[[TableFormat], list[str]]:
        """The rows of a table, as its template takes them."""
        return table_rows

    @property
    def table_sides(self) -> Callable[[TableFormat], list[tuple[str, TableSide]]]:
        """The numbers of a table, as the template of its encoder takes them."""
        return table_sides

    @property
    def sample_c(self) -> str:
        """The code of an example's addend."""
        fmt = self.u.operands.addend
        return "" if fmt is None else _sv_code(fmt, NUMBER_C)


def _sv_code(fmt: Format, number: float) -> str:
    width = {1: 8, 2: 16}.get(-(-fmt.container_bits // 8), 32)
    return f"{width}'h{int(fmt.encode(number)):X}"


def _sv_parameter(kind: str, name: str) -> str:
    return f"{kind.removesuffix('[]')} {name}[]" if kind.endswith("[]") else f"{kind} {name}"


def _c_parameter(kind: str, name: str) -> str:
    if kind.endswith("[]"):
        return f"const svOpenArrayHandle {name}"
    return f"const svBitVecVal *{name}" if kind.startswith("bit [") else f"{C_TYPES[kind]}{name}"
