// The stages of a dot product: computed by the program in WebAssembly, with formats by their names, values and the window.
"use strict";
const stages = (() => {
  const { Wrong } = unitKeys;
  let memory, program;

  async function load(data) {
    const bytes = Uint8Array.from(atob(data.program), (c) => c.charCodeAt(0));
    const made = await WebAssembly.instantiate(bytes);
    program = made.instance.exports;
    memory = program.memory;
  }

  const address = (name) => program[name].value;
  const longs = (name, count) => new BigInt64Array(memory.buffer, address(name), count);
  const answer = () => {
    const [at] = new Uint32Array(memory.buffer, address("text"), 1), [size] = new Uint32Array(memory.buffer, address("size"), 1);
    return new TextDecoder().decode(new Uint8Array(memory.buffer, at, size));
  };

  function called(name, ...given) {
    const done = program[name](...given);
    if (!done) throw new Wrong(answer());
    return answer();
  }

  // ---- A unit's keys into the program. ----

  let inside = null;

  function enter(data, unit) {
    if (inside === unit) return;
    unit.packed ??= unitKeys.packed(data, unit);
    const { numbers, rows, nans, groups } = unit.packed, { limits } = data, width = data.numbers.format_keys.length;
    longs("keys", numbers.length).set(numbers);
    const formats = longs("formats", limits.formats * width).fill(unitKeys.NONE);
    rows.forEach((row, index) => formats.set(row, index * width));
    nans.forEach((codes, index) => {
      const own = longs("nans", limits.formats * limits.nans);
      codes.forEach((code, i) => { own[index * limits.nans + i] = BigInt.asIntN(64, BigInt(code)); });
    });
    new Int32Array(memory.buffer, address("group_of"), groups.length).set(groups);
    inside = unit;
  }

  function placeOf(unit, fmt) {
    return unit.packed.formats.indexOf(fmt) >= 0 ? unit.packed.formats.indexOf(fmt)
      : unit.packed.formats.findIndex((each) => JSON.stringify(each) === JSON.stringify(fmt));
  }

  // ---- Values. ----

  // As Python writes a float.
  function floatText(x) {
    if (Number.isNaN(x)) return "nan";
    if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
    if (Number.isInteger(x) && Math.abs(x) < 1e15 && !Object.is(x, -0)) return String(x);
    const [digits, power] = Math.abs(x).toExponential().split("e"), exp = Number(power), sign = x < 0 || Object.is(x, -0) ? "-" : "";
    const bare = digits.replace(".", "");
    if (exp >= -4 && exp < 16) {
      if (exp < 0) return `${sign}0.${"0".repeat(-exp - 1)}${bare}`;
      const whole = bare.slice(0, exp + 1).padEnd(exp + 1, "0"), rest = bare.slice(exp + 1);
      return `${sign}${whole}.${rest || "0"}`;
    }
    return `${sign}${digits}e${exp < 0 ? "-" : "+"}${String(Math.abs(exp)).padStart(2, "0")}`;
  }

  const bits = (x) => (x ? x.toString(2).length : 0);

  // A number that a code stands for, as text. In binary64 or, where that has it not, as a multiple of a power of two.
  function valueText({ sign, class: cls, sig, unit_exp: exp }) {
    if (cls === "nan") return "nan";
    if (cls === "infinity") return sign ? "-inf" : "inf";
    let whole = BigInt(sig);
    if (!whole) return sign ? "-0.0" : "0";
    while (!(whole & 1n)) { whole >>= 1n; exp++; }
    const top = bits(whole) - 1 + exp;
    if (bits(whole) <= 53 && exp >= -1074 && top <= 1023) {
      // In two steps: 2 ** -1074 is a number, and what is between is exact.
      const low = Math.max(exp, -1000);
      return floatText((sign ? -1 : 1) * Number(whole) * 2 ** low * 2 ** (exp - low));
    }
    const text = `${sign ? "-" : ""}${exp > 0 ? whole << BigInt(exp) : whole}`;
    return exp < 0 ? `${text} * 2^-${-exp}` : text;
  }

  // Formats by their names, codes with their values.
  function named(x, formats) {
    if (Array.isArray(x)) return x.map((each) => named(each, formats));
    if (x === null || typeof x !== "object") return x;
    if ("code" in x && "unit_exp" in x) return { format: formats[x.format].name, code: x.code, value: valueText(x) };
    return Object.fromEntries(Object.entries(x).map(([key, each]) => [key, named(each, formats)]));
  }

  // ---- The window as bits. ----

  const LOST_SHOWN = 16;
  const leadingOf = (sig, unit_exp) => bits(sig) - 1 + unit_exp;
  const magnitude = (text) => { const x = BigInt(text); return x < 0n ? -x : x; };

  // The places of sig * 2^unit_exp: in the window, below it, and how many more there are farther down.
  function places(sig, unit_exp, { top, last, depth }) {
    const binary = sig ? sig.toString(2) : "", leading = leadingOf(sig, unit_exp);
    const bit = (exp) => (sig && exp <= leading && exp >= unit_exp ? binary[leading - exp] : ".");
    let kept = "", lost = "";
    for (let exp = top; exp >= last; exp--) kept += bit(exp);
    for (let exp = last - 1; exp >= last - depth; exp--) lost += bit(exp);
    const end = sig ? unit_exp + binary.length - 1 - binary.lastIndexOf("1") : last;
    return { kept, lost, more: last - depth - end };
  }

  function labelled(group) {
    let labels = group.indices.map(String), terms = group.products;
    if (group.subgroups.length) {
      const size = group.products.length / group.subgroups.length;
      labels = group.subgroups.map((_, i) => `${group.indices[i * size]}-${group.indices[i * size] + size - 1}`);
      terms = group.subgroups.map((part) => part.term);
    }
    return group.addend ? [[...labels, "addend"], [...terms, group.addend.term]] : [labels, terms];
  }

  // Terms as rows of bits, above all the places that they have. shown: label, term, aligned. max_exp: null for no window,
  // whose last place is then the least of all. others: magnitudes that take places, as [sig, unit_exp].
  function framed(shown, max_exp, last, others) {
    const lowest = (sig, unit_exp) => (sig ? sig.toString(2).length - 1 - sig.toString(2).lastIndexOf("1") : -1) + unit_exp;
    const each = shown.map(({ term }) => [BigInt(term.sig), term.exp - term.fraction_bits]);
    // A sum of zero has no leading one; its row still takes the place below the window's last.
    const top = Math.max(max_exp ?? last, ...each.map((x) => leadingOf(...x)), ...others.map((x) => leadingOf(...x)));
    const frame = { top, last, depth: Math.min(last - Math.min(last, ...each.map((x) => lowest(...x))), LOST_SHOWN) };
    const rows = shown.map(({ label, term, aligned }) => {
      const { kept, lost, more } = places(BigInt(term.sig), term.exp - term.fraction_bits, frame);
      return { label, sign: term.sign ? "-" : "+", kept, lost, aligned, note: more > 0 ? `and ${more} lost places further down` : "" };
    });
    return { frame, rows };
  }

  function sumRow(label, text, note, { top, last, depth }) {
    const { kept } = places(magnitude(text), last, { top, last, depth: 0 });
    return { label, sign: text.startsWith("-") ? "-" : "+", kept, lost: " ".repeat(depth), aligned: text, note };
  }

  const normal = (rows) => rows.filter((row) => row.term.class === "normal");

  // A window, or an exact sum, whose result is no matter; null where all is zero. fraction_bits: below 2^max_exp, or 2^0.
  function picture(rows, max_exp, fraction_bits, total) {
    const shown = normal(rows), last = (max_exp ?? 0) - fraction_bits;
    if (!shown.length) return null;
    const { frame, rows: made } = framed(shown, max_exp, last, [[magnitude(total), last]]);
    return { top: frame.top, max_exp, last, rows: [...made, sumRow("sum", total, "", frame)] };
  }

  // What is drawn of a window: a row for each term that is not zero, the sum, and the result. number: the raw result.
  function windowOf(unit, group, number) {
    if (unit.get("sum.method") !== "aligned" || group.special || group.max_exp === null) return null;
    const last = group.max_exp - group.fraction_bits, [labels, terms] = labelled(group);
    const shown = normal(terms.map((term, i) => ({ label: labels[i], term, aligned: group.aligned[i] })));
    const total = magnitude(group.total), uncut = group.uncut === null ? 0n : magnitude(group.uncut);
    const result = number.class === "nan" || number.class === "infinity" ? 0n : BigInt(number.sig);
    const others = [[total > uncut ? total : uncut, last], ...(result ? [[result, number.unit_exp]] : [])];
    const { frame, rows } = framed(shown, group.max_exp, last, others), notes = [];
    if (total) {
      const growth = bits(total) - 1 - group.fraction_bits;
      notes.push(`growth ${growth >= 0 ? "+" : ""}${growth}`);
    }
    if (group.sticky) notes.push("sticky 1");
    if (group.uncut !== null) rows.push(sumRow("sum", group.uncut, "", frame));
    rows.push(sumRow(group.uncut === null ? "sum" : "cut", group.total, notes.join(", "), frame));
    if (result) {
      const { kept, lost } = places(result, number.unit_exp, frame);
      const note = group.rounded.overflow ? "overflow" : `${unit.get("result.rounding")} to ${unit.get("result.format").name}`;
      rows.push({ label: "result", sign: group.total.startsWith("-") ? "-" : "+", kept, lost: lost.replaceAll(".", " "), aligned: "", note });
    }
    return { top: frame.top, max_exp: group.max_exp, last, rows };
  }

  // ---- Operands. ----

  function checkedCode(fmt, code, what) {
    const width = fmt.kind === "float" ? fmt.container ?? fmt.exponent_bits + fmt.fraction_bits + Number(fmt.signed)
      : fmt.kind === "fixed" ? Number(fmt.signed) + fmt.integer_bits + fmt.fraction_bits : fmt.exponent_bits;
    const least = fmt.kind === "fixed" && fmt.signed ? -(1n << BigInt(width - 1)) : 0n;
    if (code < least || code >= 1n << BigInt(width)) throw new Wrong(`${what}: ${code} is no ${fmt.name} code: they have ${width} bits`);
    return BigInt.asUintN(width, code);
  }

  function code(fmt, text, what) {
    const typed = text.trim();
    if (!/^[-+]?(0x[0-9a-f]+|0o[0-7]+|0b[01]+|[0-9]+)$/i.test(typed)) throw new Wrong(`${what} must be an integer such as 56, 0x38 or 0b111000, not ${typed || "nothing"}`);
    const bare = BigInt(typed.replace(/^[-+]/, "").replace(/^0+(?=[1-9])/, ""));
    return checkedCode(fmt, typed[0] === "-" ? -bare : bare, what);
  }

  // An exact number: above / below * 2^0, or a word.
  function exact(text, what) {
    const typed = text.trim();
    const word = /^([-+]?)(inf|infinity|nan)$/i.exec(typed);
    if (word) return { word: word[2].toLowerCase() === "nan" ? "nan" : "inf", sign: word[1] === "-" };
    const sign = typed[0] === "-", bare = typed.replace(/^[-+]/, "");
    const ratio = /^([0-9]+)\/([0-9]+)$/.exec(bare), hex = /^0x([0-9a-f]*)\.?([0-9a-f]*)(?:p([-+]?[0-9]{1,5}))?$/i.exec(bare);
    const decimal = /^([0-9]*)\.?([0-9]*)(?:e([-+]?[0-9]{1,5}))?$/i.exec(bare);
    const scaled = (digits, base, exp) => {
      const power = base ** BigInt(Math.abs(exp));
      return exp >= 0 ? [digits * power, 1n] : [digits, power];
    };
    if (ratio && BigInt(ratio[2])) return { sign, pair: [BigInt(ratio[1]), BigInt(ratio[2])] };
    if (hex && hex[1] + hex[2]) return { sign, pair: scaled(BigInt(`0x${hex[1]}${hex[2]}`), 2n, Number(hex[3] ?? 0) - 4 * hex[2].length) };
    if (decimal && decimal[1] + decimal[2]) return { sign, pair: scaled(BigInt(decimal[1] + decimal[2]), 10n, Number(decimal[3] ?? 0) - decimal[2].length) };
    throw new Wrong(`${what} must be a number such as 1.5, -2e-3, 0x1.8p3, 1/3, inf or nan, not ${typed || "nothing"}`);
  }

  // The code of a number, rounded once, ties to even. 62 bits, and one that stands for all below.
  function encoded(data, unit, fmt, text, what) {
    enter(data, unit);
    const number = exact(text, what), place = placeOf(unit, fmt);
    try {
      if (number.word === "nan") return BigInt(JSON.parse(called("nan", place)));
      // Beyond every format's end, where it becomes the largest number.
      if (number.word) return BigInt(JSON.parse(called("encode", place, Number(number.sign), 1n, 2000)));
      const [above, below] = number.pair;
      const up = BigInt(Math.max(0, 64 - (bits(above) - bits(below))));
      let sig = (above << up) / below, exp = -Number(up);
      const jam = sig * below !== above << up;
      const down = Math.max(0, bits(sig) - 62), lost = sig & ((1n << BigInt(down)) - 1n);
      sig = sig >> BigInt(down) << 1n | BigInt(jam || lost !== 0n);
      return BigInt(JSON.parse(called("encode", place, Number(number.sign), sig, exp + down - 1)));
    } catch (error) {
      if (error instanceof Wrong) throw new Wrong(`${what}: ${fmt.name} has no ${text.trim()}`);
      throw error;
    }
  }

  // What a code of a format stands for.
  function decoded(data, unit, fmt, given) {
    enter(data, unit);
    writeCode(given);
    return named(JSON.parse(called("decode", placeOf(unit, fmt))), unit.packed.formats).number;
  }

  function writeCode(given) {
    const words = new Uint32Array(memory.buffer, address("code_c"), 32);
    for (let i = 0; i < 32; i++) words[i] = Number(given >> BigInt(32 * i) & 0xffffffffn);
  }

  // How many codes a case has, against what the unit takes; as `hwsim.dot` has it.
  function checkLengths(unit, operands) {
    const k = operands.a.length;
    if (!k) throw new Wrong("a has no products");
    if (operands.b.length !== k) throw new Wrong(`b must have as many codes as a (${k}), not ${operands.b.length}`);
    if (unit.get("instruction.chain") === undefined && k > unit.get("instruction.k"))
      throw new Wrong(`K must be at most instruction.k (${unit.get("instruction.k")}), because instruction.chain is none, not ${k}`);
    for (const side of unit.scaled ? ["a", "b"] : []) {
      const along = unit.get(`scale.${side}.length`), count = operands[`scale_${side}`].length;
      if (k % along) throw new Wrong(`K must be a multiple of scale.${side}.block along K (${along}), not ${k}`);
      if (count !== k / along) throw new Wrong(`scale_${side} must have ${k / along} codes, one for each block, not ${count}`);
    }
  }

  // The record of a dot product. operands: codes as BigInts: a, b, scale_a, scale_b lists, c one.
  function explained(data, unit, operands) {
    checkLengths(unit, operands);
    if (operands.a.length > data.limits.products) throw new Wrong(`K must be at most ${data.limits.products} on this page`);
    enter(data, unit);
    for (const [name, side] of [["codes_a", "a"], ["codes_b", "b"], ["codes_scale_a", "scale_a"], ["codes_scale_b", "scale_b"]]) {
      const codes = operands[side] ?? [];
      const into = new BigUint64Array(memory.buffer, address(name), codes.length);
      codes.forEach((each, i) => { into[i] = each; });
    }
    writeCode(operands.c ?? 0n);
    const raw = JSON.parse(called("run", operands.a.length)), { formats } = unit.packed;
    const groups = raw.groups.map((group) => ({ ...named(group, formats), window: windowOf(unit, group, group.result) }));
    return { schema: data.schema, unit: unit.name, k: raw.k, groups, c: named(raw.c, formats), result: named(raw.result, formats) };
  }

  return { load, explained, code, encoded, decoded, labelled, picture };
})();
