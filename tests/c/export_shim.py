"""C around an exported header that a test calls: whole dot products, every stage as a row of integers, and lengths."""

from __future__ import annotations

from hwsim.compute.c import UnitInC
from hwsim.cosim.fuzz.hardware import dots_signature, dots_source


def shim(plan: UnitInC) -> str:
    """Functions `dots`, `stages` and `takes`, of C and of C++."""
    u, name, fill = plan.u, plan.prefix, plan.u.instruction.fill
    types = {side: plan.code_types.get(side, "uint8_t") for side in ("a", "b", "scale_a", "scale_b")}
    a, b, *scales = (f"const {types[side]} *{side}" for side in types)
    operands = ", ".join([a, b, "uint32_t c", *scales])
    signatures = [
        dots_signature(plan),
        f"int64_t stages({operands}, uint64_t k, int64_t *out)",
        "int takes(uint64_t k)",
    ]
    return f"""#include "{name}.h"
#ifdef __cplusplus
extern "C" {{
#endif
{signatures[0]};
{signatures[1]};
{signatures[2]};
#ifdef __cplusplus
}}
#endif

{signatures[2]}
{{
    return {name}_takes(k);
}}

{dots_source(plan)}
{_put_integer(plan)}
static int64_t *put_group(int64_t *at, const {name}_stages *s)
{{
{_indented(_group(plan))}
    return at;
}}

{signatures[1]}
{{
    const uint64_t groups = (k + {fill - 1}) / {fill} * {fill // u.instruction.lanes};
    int64_t *at = out;
    {name}_state s;
    {name}_begin(&s{", c" if u.operands.addend else ""});
    for (uint64_t group = 0; group < groups; ++group) {{
        {types["a"]} x[{name}_LANES];
        {types["b"]} y[{name}_LANES];
{_indented(lanes(plan), 8)}
        at = put_group(at, &s.stages);
        *at++ = s.result;
    }}
    *at++ = {name}_end(&s);
    (void)c;
    (void)scale_a;
    (void)scale_b;
    return at - out;
}}
"""


def _indented(lines: list[str], by: int = 4) -> str:
    return "\n".join(" " * by + line for line in lines)


def lanes(plan: UnitInC) -> list[str]:
    name, scales = plan.prefix, plan.u.scale is not None
    lines = []
    if scales:
        lines = [
            f"{plan.code_types[side]} {lanes}[{name}_LANES];" for side, lanes in (("scale_a", "v"), ("scale_b", "w"))
        ]
    lines += [
        f"for (int lane = 0; lane < {name}_LANES; ++lane) {{",
        f"    const uint64_t i = {name}_index(group, lane);",
        "    x[lane] = i < k ? a[i] : 0;",
        "    y[lane] = i < k ? b[i] : 0;",
    ]
    for side, lanes in (("a", "v"), ("b", "w")) if scales else ():
        at = side == "b"
        lines.append(f"    {lanes}[lane] = i < k ? scale_{side}[i / {plan.scale_blocks[at]}] : {plan.ones[at]};")
    return [*lines, "}", f"{name}_step(&s, x, y{', v, w' if scales else ''});"]


def _put_integer(plan: UnitInC) -> str:
    if not plan.integer_bits:
        return ""
    body = f"for (int i = 0; i < {plan.words}; ++i)\n        *at++ = x.word[i];" if plan.words else "*at++ = x;"
    return f"static int64_t *put(int64_t *at, {plan.prefix}_int x)\n{{\n    {body}\n    return at;\n}}\n"


def _group(plan: UnitInC) -> list[str]:
    name, lines, cast = plan.prefix, [], "" if plan.words else f"({plan.prefix}_int)"
    terms = [("products", f"{name}_LANES"), *([("subgroups", f"{name}_PARTS")] if plan.group.parts else [])]
    for part, count in terms:
        lines += [f"for (int i = 0; i < {count}; ++i) {{"]
        sig = f"at = put(at, {cast}s->{part}.sig[i]);" if part == "subgroups" else f"*at++ = (int64_t)s->{part}.sig[i];"
        lines += [
            f"    *at++ = s->{part}.cls[i];",
            f"    *at++ = s->{part}.sign[i];",
            f"    *at++ = s->{part}.exp[i];",
            f"    {sig}",
        ]
        lines += ["    at = put(at, s->subgroups.total[i]);"] * (part == "subgroups") + ["}"]
    lines += ["*at++ = s->special;", "*at++ = s->special_sign;"]
    if plan.group.terms:
        lines += ["*at++ = s->max_exp;", f"for (int i = 0; i < {name}_TERMS; ++i)", "    at = put(at, s->aligned[i]);"]
    if plan.integer_bits and not plan.group.steps:
        lines.append("at = put(at, s->total);")
    if plan.group.template == "even_odd":
        for half in ("even", "odd"):
            lines += [
                f"*at++ = s->{half}.max_exp;",
                f"at = put(at, s->{half}.total);",
                f"at = put(at, s->kept_{half});",
            ]
    if plan.group.steps:
        lines += [f"for (int i = 0; i < {name}_STEPS; ++i)", "    *at++ = s->steps[i];"]
    return [*lines, *(f"*at++ = s->rounded.{key};" for key in ("code", "overflow", "inexact", "tiny"))]
