"""Which parts of the arithmetic a unit has, and how wide its integers are."""

from __future__ import annotations

from functools import cached_property
from typing import assert_never, get_args

from hwsim.c.cuts import CutMode, mode_of, modes
from hwsim.c.group import adds
from hwsim.c.names import identifier
from hwsim.c.ranges import Span
from hwsim.c.sizes import sized
from hwsim.c.support import FARTHEST, supports
from hwsim.c.unit_formats import UnitFormats
from hwsim.formats import FixedFormat, FloatFormat, Format
from hwsim.spec import AlignedSum, LateAdd, LateInWindow, Lost, RoundedSum, Rounding, Unit, as_yaml
from hwsim.spec.keys import Overflow, Tininess

ROUNDINGS: tuple[str, ...] = get_args(Rounding)


class Arithmetic(UnitFormats):
    """One unit's arithmetic.

    version: hwsim's. Raises NotImplementedYet for a unit that the model lacks, or that needs integers too wide for C.
    """

    def __init__(self, unit: Unit, version: str):
        supports(unit).demand()
        super().__init__(unit)
        self.version, self.prefix = version, identifier(unit.name)
        self.yaml = as_yaml(unit).rstrip().splitlines()
        self.group, self.sizes = sized(unit)

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
        """Whether rounded additions take sums of parts that are wider than terms."""
        return self.rounded_sum is not None and self.group.unit_exp is not None

    @property
    def exact_terms(self) -> bool:
        """Whether terms stand in the integer of exact sums."""
        return self.group.carries or self.wide_additions

    @property
    def exact_sums(self) -> bool:
        """Whether the unit has exact sums of terms."""
        own = self.group.unit_exp is not None and (not self.group.parts or self.wide_additions)
        return own or self.group.part_exp is not None

    @property
    def cuts_sum(self) -> bool:
        """Whether a window's sum loses places before it is rounded."""
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
        """Where scales enter: product, subgroup, promotion; empty without any."""
        return self.u.scale.at if self.u.scale else ""

    @property
    def sig_bits(self) -> int:
        """The narrowest type of C for products' significands: 16, 32 or 64 bits."""
        bits = self.product.most.bit_length()
        return 16 if bits <= 16 else 32 if bits <= 32 else 64

    @property
    def infinite_factors(self) -> bool:
        """Whether a factor can be infinite."""
        return bool(self.u.operands.a.infinities or self.u.operands.b.infinities)

    @property
    def nan_products(self) -> str:
        """What makes a product NaN, as an expression of C; empty where nothing does."""
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
        """Whether a product can be NaN or infinite."""
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
        """Whether a group can add something to its products."""
        return adds(self.u)

    @property
    def absent(self) -> bool:
        """Whether some groups have an addend and others do not."""
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
        own = " | 1 << group->addend.sign" if self.group_addend else ""
        many = "subgroups.sign, U_PARTS" if self.group.parts else "products.sign, U_LANES"
        return f"u_zero_sign(u_signs(group->{many}){own} | 1 << addend.sign)"

    # The result.

    @property
    def adds(self) -> bool:
        """Whether the unit has rounded additions of two terms."""
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
        """Whether a group's NaN is not the result format's own, which a rounding gives."""
        return self.group_nan != (self.u.result.format.canonical_nan or 0)

    @property
    def other_nan(self) -> bool:
        """Whether the unit returns another NaN than late additions do."""
        fmt = self.u.output
        return isinstance(fmt, FloatFormat) and self.u.nan != fmt.canonical_nan
