"""What the microscope computes in a browser: records of cases, by the page itself."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import lcm
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from browsing import browse

import hwsim
from hwsim.cases.case import block_lengths
from hwsim.cases.random_cases import random_cases
from hwsim.explain.candidate import filled
from hwsim.explain.microscope import page
from hwsim.explain.staged import staged
from hwsim.formats import Format
from hwsim.spec import Unit

Operands = dict[str, Any]

# At the end of the page, whose policy would stop it: a script's answer in the page's stead.
RUNNER = """
(async () => {
  while (!document.documentElement.dataset.ready) await new Promise((done) => setTimeout(done, 5));
  const data = JSON.parse(document.getElementById("data").textContent);
  const given = JSON.parse(document.getElementById("given").textContent);
  const answer = await (async () => { SCRIPT })();
  const zipped = new Blob([JSON.stringify(answer)]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(zipped).arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  document.body.innerHTML = `<pre id="out">${btoa(text)}</pre>`;
})();
"""

# Every case's record, or what was wrong.
RECORDS = """
const out = [];
for (const [text, cases] of given) {
  let unit;
  for (const operands of cases) {
    try {
      unit ??= unitKeys.checked(data, typeof text === "string" ? unitKeys.readYaml(text) : data.presets[text.preset]);
      const codes = Object.entries(operands).map(([name, x]) => [name, Array.isArray(x) ? x.map(BigInt) : BigInt(x)]);
      out.push(stages.explained(data, unit, Object.fromEntries(codes)));
    } catch (error) {
      out.push({ error: String(error.message ?? error) });
    }
  }
}
return out;
"""


class UnitCases(NamedTuple):
    """Cases of a unit. given: what the page is given of it: a preset's name, or a file's text."""

    unit: Unit
    given: Mapping[str, str] | str
    operands: Sequence[Operands]


def preset_cases(name: str, unit: Unit, operands: Sequence[Operands]) -> UnitCases:
    return UnitCases(unit, {"preset": name}, operands)


def answered(chromium: str, folder: Path, script: str, given: Any, *options: str) -> Any:
    """What a script returns at the end of the page. In it are `data`, as the page has it, and `given`."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page())
    inside = json.dumps(given).replace("<", "\\u003c")
    runner = RUNNER.replace("SCRIPT", script)
    added = f'<script type="application/json" id="given">{inside}</script><script>{runner}</script>'
    folder.mkdir(exist_ok=True)
    (folder / "microscope.html").write_text(text.replace("</body>", f"{added}</body>"), encoding="utf-8")
    dom, log = browse(chromium, folder / "microscope.html", "--dump-dom", "--virtual-time-budget=10000000", *options)
    found = re.search(r'<pre id="out">([^<]*)</pre>', dom)
    assert found is not None, log[-2000:]
    return json.loads(gzip.decompress(base64.b64decode(html.unescape(found[1]))))


def in_browser(chromium: str, folder: Path, units: Sequence[UnitCases]) -> list[Any]:
    """The page's record of every case, in order; what is wrong with one under `error`."""
    cases = [[given, as_hex(operands)] for _, given, operands in units]
    records: list[Any] = answered(chromium, folder, RECORDS, cases)
    return records


def as_hex(operands: Iterable[Operands]) -> list[Operands]:
    """Codes as text, which JSON keeps whole."""
    return [
        {name: list(map(hex, x)) if isinstance(x, (list, tuple)) else hex(x) for name, x in each.items()}
        for each in operands
    ]


def record(unit: Unit, operands: Operands) -> Any:
    """The model's record, as JSON has it."""
    return json.loads(json.dumps(staged(hwsim.explain(unit, **operands))))


def difference(x: Any, y: Any, path: str = "record") -> str:
    """The first place where two records differ; empty where they are equal."""
    if isinstance(x, dict) and isinstance(y, dict) and x.keys() == y.keys():
        return next(filter(None, (difference(x[key], y[key], f"{path}.{key}") for key in x)), "")
    if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        each = enumerate(zip(x, y, strict=True))
        return next(filter(None, (difference(*pair, f"{path}[{i}]") for i, pair in each)), "")
    return "" if type(x) is type(y) and x == y else f"{path}: {str(x)[:200]} in the page, {str(y)[:200]} in hwsim"


def differences(chromium: str, folder: Path, units: Iterable[UnitCases]) -> tuple[int, list[str]]:
    """How many records were compared, and where some differ."""
    listed = list(units)
    got = in_browser(chromium, folder, listed)
    wanted = [(unit, record(unit, each)) for unit, _, operands in listed for each in operands]
    assert len(got) == len(wanted)
    found = (
        f"{unit.name}: {there['error'] if 'error' in there else difference(there, want)}"
        for there, (unit, want) in zip(got, wanted, strict=True)
        if there != want
    )
    return len(wanted), list(found)


def operands_of(unit: Unit, count: int, seed: int) -> list[Operands]:
    """Operands of random cases, of whole blocks; of units with codes of 64 bits, which have no cases, any codes."""
    if unit.operands.a.container_bits > 32:
        stream = Random(f"{seed} {unit.name}")
        return [_wide(unit, stream) for _ in range(count)]
    whole = lcm(*block_lengths(unit)) if unit.scale is not None else 1
    made = []
    for case in random_cases(unit, count, seed):
        case = filled(unit, case, whole)
        operands: Operands = {"a": list(case.a), "b": list(case.b)}
        if unit.operands.addend is not None:
            operands["c"] = case.c
        if unit.scale is not None:
            operands |= {"scale_a": list(case.scale_a), "scale_b": list(case.scale_b)}
        made.append(operands)
    return made


def _wide(unit: Unit, stream: Random) -> Operands:
    def code(fmt: Format) -> int:
        kind = stream.randrange(6)
        if kind == 0:
            return stream.choice((0, fmt.max_code, 1, 1 << fmt.bits - 1, stream.getrandbits(fmt.bits)))
        near = int(fmt.encode(stream.choice((-1.0, 1.0)) * 2 ** stream.uniform(-4, 4)))
        return near if kind < 4 else stream.getrandbits(fmt.bits)

    k = stream.choice((1, 2, 3, unit.instruction.fill, 2 * unit.instruction.fill))
    k = k if unit.instruction.chain else min(k, unit.instruction.k)
    operands: Operands = {side: [code(unit.operands.factor(side)) for _ in range(k)] for side in ("a", "b")}
    if unit.operands.addend is not None:
        operands["c"] = code(unit.operands.addend)
    return operands
