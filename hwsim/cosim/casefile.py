"""Case files: one case of a design, to run again; and the words of it that any testbench can read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, Strict

from hwsim.base.errors import InputError
from hwsim.base.files import written
from hwsim.cases.case import Case, fill, multiplied, operand_counts, operand_formats
from hwsim.cosim.design import DotDesign, tag
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.suites import expected_codes
from hwsim.cosim.unitdesign import SparseDesign
from hwsim.formats.codes import codes_of
from hwsim.formats.yamlfile import FilePart, SpecError, read, validated
from hwsim.spec import SparseUnit, Unit
from hwsim.spec.sparse import Sparsity

Codes = tuple[Annotated[int, Strict(), Field(ge=0)], ...]


class CaseKeys(FilePart):
    """The keys of a file that holds a case: its codes, by the names of `Case`."""

    a: Annotated[Codes, Field(min_length=1)]
    b: Annotated[Codes, Field(min_length=1)]
    c: Annotated[int, Strict(), Field(ge=0)] = 0
    scale_a: Codes = ()
    scale_b: Codes = ()
    metadata: Codes = ()

    def case(
        self, unit: Unit, name: str, wrong: Callable[[str, str], SpecError], sparsity: Sparsity | None = None
    ) -> Case:
        """The case of these keys. wrong: makes the error for a key that breaks a rule, which is raised.

        sparsity: of a sparse unit, whose dense one is `unit`.
        """
        count = len(self.a)
        if sparsity is not None:
            self._check_metadata(sparsity, wrong)
        elif self.metadata:
            raise wrong("metadata", "must be left out: the unit is dense")
        elif len(self.b) != count:
            raise wrong("b", f"must have as many codes as a ({count}), not {len(self.b)}")
        formats, counts = operand_formats(unit), operand_counts(unit, count)
        for key in ("scale_a", "scale_b"):
            if len(getattr(self, key)) != (needed := counts.get(key, 0)):
                raise wrong(key, f"must have a code for each block ({needed}), not {len(getattr(self, key))}")
        if self.c and "c" not in formats:
            raise wrong("c", "must be 0: the unit has no addend")
        for key, fmt in formats.items():
            for code in (self.c,) if key == "c" else getattr(self, key):
                try:
                    codes_of(fmt, [code])
                except (InputError, OverflowError):
                    rule = f"must be codes of {fmt.name} ({fmt.container_bits} bits), not {code:#x}"
                    raise wrong(key, rule) from None
        return Case(name, self.a, self.b, self.c, self.scale_a, self.scale_b, metadata=self.metadata)

    def _check_metadata(self, rule: Sparsity, wrong: Callable[[str, str], SpecError]) -> None:
        count = len(self.a)
        if count % rule.kept:
            raise wrong("a", f"must be a multiple of the {rule.kept} codes that are kept together, not {count}")
        if len(self.b) != rule.whole_of(count):
            raise wrong("b", f"must have {rule.whole_of(count)} codes, of which a keeps {count}, not {len(self.b)}")
        if len(self.metadata) != count // rule.run or max(self.metadata) >= rule.of:
            raise wrong("metadata", f"must be {count // rule.run} indices below {rule.of}")


class DutCase(CaseKeys):
    """The keys of a design's case. expected, got, fields: for a reader, not read back."""

    unit: str
    id: str = "case"
    expected: int | None = None
    got: int | str | None = None
    fields: Any = None


def load_case(path: Path, design: DotDesign) -> Case:
    """A case of this design's unit, from its file, filled up to whole beats.

    Raises SpecError, naming file, line and key, for a file that breaks a rule, and for a case of another unit.
    """
    unit, dut, document = design.unit, design.dut if isinstance(design, DutDesign) else None, read(path)
    file = validated(DutCase, document)

    def wrong(key: str, rule: str) -> SpecError:
        return SpecError(f"{document.where((key,))}: {key} {rule}")

    sparse = dut.sparse if dut else design.sparse if isinstance(design, SparseDesign) else None
    named = sparse.name if sparse else unit.name
    if file.unit != named:
        who = f"{dut.path} claims to be" if dut else "is played"
        raise wrong("unit", f"must be {named}, which {who}, not {file.unit}")
    addend = unit.operands.addend
    no_port = dut is not None and not dut.file.known("c")
    if file.c and (addend is None or no_port or file.c >> addend.container_bits):
        raise wrong("c", f"must be a code of the design's addend, not {file.c:#x}")
    drawn = file.case(unit, file.id, wrong, sparse.sparsity if sparse else None)
    if sparse and isinstance(design, SparseDesign):
        rule, whole = sparse.sparsity, fill(unit, design.products, multiplied(sparse, drawn))
        rest = len(whole.a) - len(drawn.a)
        filled = (0,) * rule.whole_of(rest), rule.patterns[0] * (rest // rule.kept)
        return replace(whole, b=(*drawn.b, *filled[0]), metadata=(*drawn.metadata, *filled[1]))
    if sparse and isinstance(design, DutDesign):
        drawn = design.keep(drawn)
    if difference := design.held.differs(drawn):
        raise SpecError(f"{path}: {design.name} does not take {difference}")
    case = design.held.put(fill(unit, design.products, drawn))
    if dut and len(case.a) > dut.products and not dut.chains:
        raise wrong("a", f"must be one beat ({dut.products} products), not {len(file.a)}")
    return case


def write_case(folder: Path, design: DutDesign, case: Case, got: int | None) -> Path:
    """Write `case.yaml`, `operands.hex` (a beat a line, as one word) and `expected.hex`. Return the path of the first.

    got: what the design returned; None for an unknown or missing result.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dut, ports = design.dut, design.ports
    (expected,) = expected_codes(dut.unit, [case])
    stream = [item.beat for item in tag(design.driven_unit, 0, design.driven([case])[0], 0)]
    digits = -(-ports.input.width // 4)
    (folder / "operands.hex").write_text("".join(f"{ports.pack(beat):0{digits}x}\n" for beat in stream))
    wide = -(-dut.unit.output.container_bits // 4)
    (folder / "expected.hex").write_text(f"{expected:0{wide}x}\n")
    table = {
        field.name: f"bits {field.offset + field.bits * field.count - 1}:{field.offset} of a line of operands.hex"
        + (f", {field.count} elements, the first in the low bits" if field.count > 1 else "")
        for field in ports.input.fields
    }
    path = folder / "case.yaml"
    data = _data(dut.sparse or dut.unit, design.driven([case])[0], expected, got)
    path.write_text(HexDumper.dump({**data, "fields": table}), encoding="utf-8")
    return path


def write_unit_case(path: Path, unit: Unit | SparseUnit, case: Case, expected: int, got: int | None) -> None:
    """Write a case of a unit, to play again with `hwsim cosim UNIT --case FILE`. expected, got: codes of results."""
    with written(path) as file:
        file.write(HexDumper.dump(_data(unit, case, expected, got)).encode())


def _data(unit: Unit | SparseUnit, case: Case, expected: int, got: int | None) -> dict[str, Any]:
    more = {key: list(getattr(case, key)) for key in ("scale_a", "scale_b", "metadata") if getattr(case, key)}
    data = {"unit": unit.name, "id": case.id, "a": list(case.a), "b": list(case.b), "c": case.c, **more}
    return {**data, "expected": expected, "got": "unknown" if got is None else got}


class HexDumper(yaml.SafeDumper):
    """A YAML dumper that writes integers in hexadecimal."""

    @classmethod
    def dump(cls, data: dict[str, Any]) -> str:
        """A mapping as YAML, its integers in hexadecimal."""
        return str(yaml.dump(data, Dumper=cls, sort_keys=False, default_flow_style=None, width=110))


HexDumper.add_representer(int, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:int", hex(value)))
