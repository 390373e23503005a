"""Parameters and arguments of a unit's functions in C, and which products each group of a dot product takes."""

from __future__ import annotations

from hwsim.c.arithmetic import Arithmetic
from hwsim.c.exact import LONGEST
from hwsim.c.unit_formats import code_type
from hwsim.formats.blocks import one_code
from hwsim.spec import SequentialSum, Unit
from hwsim.spec.parts import Order


class Calls(Arithmetic):
    """How the functions of a unit are called."""

    def __init__(self, unit: Unit, version: str):
        super().__init__(unit, version)
        operands, scale = unit.operands, unit.scale
        self.code_types = {"a": code_type(operands.a), "b": code_type(operands.b)}
        if scale is not None:
            self.code_types |= {"scale_a": code_type(scale.a.format), "scale_b": code_type(scale.b.format)}

    def parameters(self, scales: bool) -> str:
        """Parameters that point to the codes of both factors and, if asked for, of both scales."""
        names = ["a", "b", *(["scale_a", "scale_b"] if scales else [])]
        return ", ".join(f"const {self.code_types[name]} *{name}" for name in names)

    @property
    def group_scales(self) -> bool:
        """Whether scales enter inside a group."""
        return self.scaled_at in ("product", "subgroup")

    @property
    def dot_parameters(self) -> str:
        """The parameters of a whole dot product that come before the number of products."""
        parts = self.parameters(self.u.scale is not None).split(", ")
        return ", ".join([*parts[:2], *["uint32_t c"] * (self.u.operands.addend is not None), *parts[2:]])

    @property
    def arguments(self) -> str:
        """The names of a group's parameters."""
        return "a, b, scale_a, scale_b" if self.group_scales else "a, b"

    @property
    def state_words(self) -> str:
        """What an unfinished dot product keeps as its result, in words."""
        if self.u.promotion:
            return "the promotion register"
        first = "c, then " if self.u.operands.addend else ""
        return first + ("the sum with it" if self.u.late else "that of the last group")

    @property
    def step_words(self) -> str:
        """The roundings of a rounded sum in the order of its steps, in words."""
        rounded = self.rounded_sum is not None and self.rounded_sum.product == "rounded"
        product = "each product, rounded, " if rounded else ""
        if isinstance(self.u.sum, SequentialSum):
            return f"codes: the addend, rounded; then {product and product + 'and '}the sum with each product"
        last = "the addend, rounded; the sum" if self.group_addend else "the sum, rounded"
        return f"codes: {product and product.rstrip() + ' then '}the tree, level by level; {last}"

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
        """Whether a group's codes must be gathered, because they are not the next codes in memory."""
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
        """Whether the unit takes a dot product of k products, as an expression of C."""
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
        """How many products share a scale of a, and of b."""
        assert self.u.scale is not None
        return self.u.scale.a.block[1], self.u.scale.b.block[0]

    @property
    def ones(self) -> tuple[int, int]:
        """The codes of scales of 1, for lanes that hold no product."""
        assert self.u.scale is not None
        return one_code(self.u.scale.a.format), one_code(self.u.scale.b.format)
