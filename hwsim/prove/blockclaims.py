"""The claims of a block quantiser whatever its scales are: what counts in amax, and its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from hwsim.formats import Class, Fields
from hwsim.model.conversion import encode_fields
from hwsim.prove.alike import Alike
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, connected, fixed, without_undriven
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.converters import StreamFile
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import Term, both, either, is_one, negated, same, substituted, value, width
from hwsim.prove.maxima import without_maxima
from hwsim.prove.relations import each, holds
from hwsim.prove.symbolic import Integer
from hwsim.quantize.block import BlockQuantization
from hwsim.quantize.rule import Special
from hwsim.rtl import BlockQuantizer, stream_verilog, supports_quantizer
from hwsim.rtl.block_divided import tensor_fields
from hwsim.rtl.quantizer import block_layout, quantized_layout, quantizer_cuts, stages
from hwsim.spec.conversion import Conversion


class BlockClaims:
    """Claims about a block quantiser. Raises NotImplementedYet for a rule that the RTL does not have."""

    def __init__(self, quantization: BlockQuantization, cuts: Sequence[str] | None = None, text: str | None = None):
        """text: the file's, where it is not the one that hwsim writes."""
        self.q, self.cuts, self.text = quantization, cuts, text
        supports_quantizer(quantization)

    @cached_property
    def steps(self) -> dict[str, Circuit]:
        """Each step by itself, in order."""
        made = circuits({stage.name: stage for stage in stages(self.q)})
        return {name: without_undriven(circuit) for name, circuit in made.items()}

    def _joined(self, *names: str) -> Circuit:
        return connected([self.steps[name] for name in names])

    @property
    def _amax(self) -> list[str]:
        return [name for name in self.steps if name.startswith("amax")]

    # What counts in amax.

    def _special(self) -> Iterator[AnyClaim]:
        circuit, q, rule = self.steps["special"], self.q, self.q.rule
        source = q.float_source
        port = circuit.inputs["i__x__0"]
        code = Integer.unsigned(port) >> source.padding

        def counted() -> tuple[object, bool]:
            """A number's magnitude bits in amax, and whether it makes the scale NaN."""
            fields, bits = self._fields(code), code & (source.sign_bit - 1)
            match fields.cls:
                case Class.NAN:
                    return 0, rule.nan is Special.BLOCK
                case Class.INFINITY:
                    return bits if rule.infinity is Special.AMAX else 0, rule.infinity is Special.BLOCK
                case Class.ZERO:
                    return 0, False
                case _:
                    return bits, False

        quiet = {name: value(0, width(term)) for name, term in circuit.inputs.items() if name != "i__x__0"}
        alone = fixed(circuit, {name: term for name, term in quiet.items() if name.startswith("i__x__")}).outputs
        found, dead = Integer.unsigned(alone["o__maxima__0"]), is_one(alone["o__dead"])
        right = [
            Path(path.condition, both(holds(found == path.result[0]), dead if path.result[1] else negated(dead)))
            for path in paths(counted, self._clean(port))
        ]
        yield Claim(
            "lane: counted", "a number counts in amax, or makes the scale NaN, as the rule says", self._codes,
            self._clean(port), each(right), (port,),
        )  # fmt: skip
        yield FormClaim("lanes: counted", "every lane counts alike", f"{q.lanes} lanes", self._counted_alike)
        every = []
        for lane in range(q.lanes):
            others = {name: term for name, term in circuit.inputs.items() if name.startswith("i__x__")}
            others.pop(f"i__x__{lane}")
            zeros = {name: value(0, width(term)) for name, term in others.items()}
            every.append(is_one(fixed(circuit, zeros).outputs["o__dead"]))
        yield Claim(
            "flag: gathered", "the scale is NaN where one number alone would make it so", "all numbers", (),
            same(is_one(circuit.outputs["o__dead"]), either(*every)), tuple(circuit.inputs.values()),
        )  # fmt: skip

    @property
    def _codes(self) -> str:
        return f"codes of {self.q.source.name}"

    def _clean(self, port: Term) -> tuple[Term, ...]:
        """That a code's padding is zeros."""
        padding = self.q.source.padding
        return (holds(Integer.unsigned(port) & ((1 << padding) - 1) == 0),) if padding else ()

    def _fields(self, code: Any) -> Fields:
        """The model's fields of a code, flushed where the rule says so."""
        source, rule = self.q.float_source, self.q.rule
        fields = source.fields(code)
        # Binary32's subnormals alone are flushed: no other source's number that is one is below 2^-126.
        if rule.flush and fields.cls is Class.SUBNORMAL and source.emin == -126:
            return fields._replace(sig=0, cls=Class.ZERO)
        return fields

    def _counted_alike(self) -> bool:
        circuit = self.steps["special"]
        first = circuit.inputs["i__x__0"]
        return all(
            substituted(circuit.outputs["o__maxima__0"], {first: circuit.inputs[f"i__x__{lane}"]})
            == circuit.outputs[f"o__maxima__{lane}"]
            for lane in range(1, self.q.lanes)
        )

    def _largest(self) -> Iterator[AnyClaim]:
        circuit, q = self._joined(*self._amax), self.q
        source = q.float_source
        leaves = [circuit.inputs[f"i__maxima__{lane}"] for lane in range(q.lanes)]
        tree = without_maxima(circuit.outputs["o__amax"], leaves)
        whole = len(tree.groups) == 1 and frozenset(leaves) in tree.groups.values()
        yield FormClaim("amax: tree", "one magnitude is left, the largest of all", f"{q.lanes} lanes", lambda: whole)
        if not whole:
            return
        (largest,) = tree.groups
        single = Conversion(source=source, target="f32", overflow="infinity")  # type: ignore[arg-type]
        bits = Integer.unsigned(largest)
        top = source.max_magnitude if source.infinity_magnitude is None else source.infinity_magnitude
        known = (holds(bits <= top),)
        found = Integer.unsigned(tree.term)
        right = [
            Path(path.condition, holds(found == path.result))
            for path in paths(lambda: encode_fields(single, source.fields(bits), 0), known)
        ]
        yield Claim("amax: binary32", "amax is that magnitude in binary32", self._codes, known, each(right), (largest,))

    # The file.

    def _file(self) -> Iterator[AnyClaim]:
        q = self.q
        cuts = quantizer_cuts(q, self.cuts)
        text = stream_verilog(BlockQuantizer(q, cuts)) if self.text is None else self.text
        file = StreamFile(text, len(cuts), block_layout(q), quantized_layout(q))
        yield from file.control()
        chain = connected(list(self.steps.values()))
        given = {f"i__{field}": file.field("i", field) for field in tensor_fields(q.rule)}
        for lane in range(q.lanes):
            given[f"i__x__{lane}"] = file.field("i", "x", lane)
            if q.random_bits:
                given[f"i__words__{lane}"] = file.field("i", "words", lane)
        made = fixed(chain, given).outputs
        codes = [same(file.field("o", "codes", lane), made[f"o__codes__{lane}"]) for lane in range(q.lanes)]
        yield Alike(
            "file: codes", "the codes that leave are what the steps, one after another, make of what entered",
            "all numbers", (), both(*codes),
        )  # fmt: skip
        yield Alike(
            "file: scale", "and so is the scale", "all numbers", (), same(file.field("o", "scale"), made["o__scale"]),
        )  # fmt: skip
