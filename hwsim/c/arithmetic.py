"""Which parts of the arithmetic a unit has, and how wide its integers are."""

from __future__ import annotations

from functools import cached_property

from hwsim.c.names import identifier
from hwsim.c.ranges import Range
from hwsim.c.sizes import sizes
from hwsim.c.unit_formats import UnitFormats
from hwsim.formats import FixedFormat, FloatFormat, Format
from hwsim.spec import NotImplementedYet, Unit, as_yaml, refuse_unimplemented

MOST_BITS = 2048  # of an integer
FARTHEST = 1 << 20  # an exponent beyond every one that terms have

LOST = {"truncate": "rz", "floor": "rd", "jam": "rto", "rne": "rne", "rna": "rna"}
WORDS = {
    "rz": "magnitudes are cut off",
    "rd": "numbers are rounded down",
    "ru": "numbers are rounded up",
    "rto": "a lost 1 is OR-ed into the last bit",
    "rne": "to nearest, ties to even",
    "rna": "to nearest, ties away from zero",
}
OVERFLOW = {"infinity": "U_TO_INFINITY", "nan": "U_TO_NAN", "saturate": "U_SATURATE"}
CHAIN = ("sequential", "pairwise")


class Arithmetic(UnitFormats):
    """One unit's arithmetic.

    Raises NotImplementedYet for what the model lacks, and for what C has no practical integers for.
    """

    cut_words = WORDS

    def __init__(self, unit: Unit, version: str):
        refuse_unimplemented(unit)
        super().__init__(unit)
        self.version, self.prefix = version, identifier(unit.name)
        self.yaml = as_yaml(unit).rstrip().splitlines()
        self.sizes = sizes(unit)
        self._refuse()

    def _refuse(self) -> None:
        unit, rule = self.u, self.u.sum
        floor, bits = rule.max_exp_floor, self.sizes.bits
        refused = {
            f"sum.max_exp_floor: {floor}": floor is not None and abs(floor) > FARTHEST,
            "sum.product_limit with a fixed result": rule.product_limit is not None and not self.result_float,
            f"an integer of {bits:,} bits (more than {MOST_BITS:,})": bits > MOST_BITS,
        }
        for what, present in refused.items():
            if present:
                raise NotImplementedYet(f"unit {unit.name}: {what} is in the model, but not in C")

    @property
    def method(self) -> str:
        """`sum.method`."""
        return self.u.sum.method

    # Integers.

    @property
    def integer_bits(self) -> int:
        """Bits of the integer that holds sums and shifted terms; 0 where there is none."""
        return self.sizes.bits

    @property
    def words(self) -> int:
        """Its words of 32 bits; 0 where a type of C holds it."""
        return 0 if self.integer_bits <= 64 else -(-self.integer_bits // 32)

    @property
    def integer_type(self) -> str:
        """The type of C, without `_t`, where one holds it."""
        return "int32" if self.integer_bits <= 32 else "int64"

    @property
    def shift_most(self) -> int:
        """The farthest that anything is shifted."""
        return max(cut.shifted for cut in self.sizes.cuts) + 1

    @cached_property
    def cuts(self) -> list[str]:
        """What becomes of bits that are shifted out, as roundings."""
        rule, late = self.u.sum, self.u.late
        found = {LOST[rule.lost]} if self.method in ("aligned", "even-odd") else set()
        if rule.combine is not None:
            found.add(LOST[rule.combine.lost])
        if late is not None and late.lost is not None:
            found.add(LOST[late.lost])
        if not self.result_float:
            found.add(self.u.result.rounding)
        return sorted(found)

    def cut(self, lost: str) -> str:
        """The last argument of an alignment, where it has a choice."""
        return f", U_{LOST.get(lost, lost).upper()}" if len(self.cuts) > 1 else ""

    @property
    def places(self) -> bool:
        """Whether there are exact sums."""
        return self.method == "exact" or self.u.sum.subgroup is not None

    # Products.

    @property
    def product(self) -> Range:
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
        found = [f"({name}.cls == U_NAN)" for name, fmt in sides.items() if fmt.has_nan]
        return " | ".join([*found, *["(infinite & zero)"] * self.infinite_factors])

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
        """`sum.product_limit`, no farther than exponents go."""
        return max(-FARTHEST, min(FARTHEST, self.u.sum.product_limit or 0))

    @property
    def drop_below(self) -> int:
        """`late.drop_below`, no farther than exponents go."""
        return max(-FARTHEST, min(FARTHEST, self.u.late.drop_below or 0)) if self.u.late else 0

    # The group.

    @property
    def parts(self) -> int:
        """Scaled sums of a group."""
        return self.u.instruction.lanes // self.u.sum.subgroup.lanes if self.u.sum.subgroup else 0

    @property
    def group_addend(self) -> bool:
        """Whether a group can add something to its products."""
        unit = self.u
        alone = unit.instruction.chain is None and unit.instruction.groups == 1
        never = unit.operands.addend is None and unit.restart is None and alone
        return self.method != "even-odd" and not never

    @property
    def absent(self) -> bool:
        """Whether a group can have an addend, and another none."""
        return self.group_addend and self.u.operands.addend is None and self.u.restart is None

    @property
    def carries(self) -> bool:
        """Whether an exact sum goes on unrounded."""
        return self.group_addend and self.method == "exact" and self.u.sum.rounded != "group"

    @property
    def window_terms(self) -> int:
        """Terms of a window; 0 without one."""
        if self.method not in ("aligned", "even-odd"):
            return 0
        return (self.parts or self.u.instruction.lanes) + self.group_addend

    @property
    def steps(self) -> int:
        """Rounded additions of a group; 0 for other methods."""
        lanes, rounded = self.u.instruction.lanes, self.u.sum.product == "rounded"
        if self.method == "sequential":
            return 1 + lanes * (1 + rounded)
        return lanes * rounded + lanes - 1 + 1 + self.group_addend if self.method == "pairwise" else 0

    @property
    def zero_signs(self) -> bool:
        """Whether a sum of zero has the sign that IEEE 754 gives it."""
        return self.u.sum.zero == "ieee"

    def zero_sign(self, terms: str) -> str:
        """The sign of a group's sum of zero, as an expression of C."""
        if not self.zero_signs:
            return "0"
        many = "U_PARTS" if terms == "subgroups" else "U_LANES"
        signs = f"u_signs(s->{terms}.sign, {many})"
        if self.group_addend:
            signs += " | (addend.cls == U_ABSENT ? 0 : 1 << addend.sign)" if self.absent else " | 1 << addend.sign"
        return f"u_zero_sign({signs})"

    @property
    def late_zero_sign(self) -> str:
        """The same of the sum with a late addend in a window."""
        if not self.zero_signs:
            return "0"
        own = " | 1 << group->addend.sign" if self.group_addend else ""
        return f"u_zero_sign(u_signs(group->products.sign, U_LANES){own} | 1 << addend.sign)"

    # The result.

    @property
    def adds(self) -> bool:
        """Whether there are additions of two terms, rounded."""
        late = self.u.late is not None and self.u.late.operation == "add"
        return self.method in CHAIN or late or self.u.promotion is not None

    @property
    def overflow(self) -> str:
        """What takes the place of too large a result."""
        return OVERFLOW[self.u.result.overflow]

    @property
    def infinite(self) -> str:
        """What takes the place of an infinite result."""
        kept = self.overflow == "U_SATURATE" or not self.u.result.format.infinities
        return self.overflow if kept else "U_TO_INFINITY"

    @property
    def group_nan(self) -> int:
        """The container's code of a group's NaN."""
        fmt, rule = self.u.result.format, self.u.result.nan
        if isinstance(fmt, FixedFormat):
            return 0
        return rule if isinstance(rule, int) else fmt.canonical_nan or 0

    @property
    def other_nan(self) -> bool:
        """Whether the unit's NaN is not that of late additions."""
        fmt = self.u.output
        return isinstance(fmt, FloatFormat) and self.u.nan != fmt.canonical_nan
