// The page: what is typed, and how the stages look.
"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { Wrong, isMapping } = unitKeys, $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg", FIELDS = ["a", "b", "c", "scale_a", "scale_b"];
  const MOST_SHOWN = 260; // columns of a picture
  const state = { sides: [], mode: "values", text: {}, group: 0, open: {} };

  // ---- Elements. ----

  function el(tag, given = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, x] of Object.entries(given)) {
      if (x === undefined || x === null || x === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), x);
      else if (key in made && key !== "list" && key !== "class") made[key] = x;
      else made.setAttribute(key, x === true ? "" : x);
    }
    made.append(...children.flat(Infinity).filter((x) => x !== null && x !== undefined && x !== ""));
    return made;
  }

  function drawn(tag, given, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [key, x] of Object.entries(given)) made.setAttribute(key, x);
    made.append(...children);
    return made;
  }

  const RAISED = Object.fromEntries([..."-0123456789"].map((c, i) => [c, "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"[i]]));
  const power = (exp) => `2${String(exp).replace(/./g, (c) => RAISED[c])}`;
  const minus = (text) => String(text).replace(/^-/, "−");
  const plural = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

  // ---- Operands: text to codes, and back. ----

  const formatOf = (unit, field) => ({ a: "operands.a", b: "operands.b", c: "operands.addend", scale_a: "scale.a.format", scale_b: "scale.b.format" })[field] && unit.get({ a: "operands.a", b: "operands.b", c: "operands.addend", scale_a: "scale.a.format", scale_b: "scale.b.format" }[field]);

  function parsed(unit, field) {
    const fmt = formatOf(unit, field), typed = (state.text[field] ?? "").trim();
    if (!fmt) return undefined;
    if (!typed) {
      if (field === "c") return 0n;
      if (field.startsWith("scale")) {
        const count = Math.floor((state.text.a ?? "").split(",").length / unit.get(`scale.${field.at(-1)}.length`));
        const one = stages.encoded(data, unit, fmt, "1", field);
        return Array(count).fill(one);
      }
      throw new Wrong(`${field} is empty`);
    }
    const read = (text) => (state.mode === "codes" ? stages.code(fmt, text, field) : stages.encoded(data, unit, fmt, text, field));
    return field === "c" ? read(typed) : typed.split(",").map(read);
  }

  const hex = (fmt, code) => `0x${code.toString(16).padStart(Math.ceil((widthOf(fmt)) / 4), "0")}`;
  const widthOf = (fmt) => (fmt.kind === "fixed" ? Number(fmt.signed) + fmt.integer_bits + fmt.fraction_bits : fmt.kind === "exponent" ? fmt.exponent_bits : fmt.container ?? fmt.exponent_bits + fmt.fraction_bits + Number(fmt.signed));

  function written(unit, field, codes, mode) {
    const fmt = formatOf(unit, field);
    const one = (code) => (mode === "codes" ? hex(fmt, code) : stages.decoded(data, unit, fmt, code).value);
    return Array.isArray(codes) ? codes.map(one).join(", ") : one(codes);
  }

  // ---- Random operands: finite codes of a narrow format, else numbers around one. ----

  let seed = 1;
  function random() {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  const gcd = (x, y) => (y ? gcd(y, x % y) : x);
  const lcm = (x, y) => (x / gcd(x, y)) * y;

  function drawOperands(unit) {
    let k = unit.fill;
    if (unit.scaled) k = lcm(lcm(k, unit.get("scale.a.length")), unit.get("scale.b.length"));
    const few = unit.get("instruction.chain") === undefined ? Math.min(4, unit.get("instruction.k")) : 4;
    k = Math.ceil(Math.max(k, few) / unit.fill) * unit.fill;
    const finite = (fmt) => {
      for (;;) {
        const code = BigInt(Math.floor(random() * 2 ** widthOf(fmt)));
        if (!["nan", "inf", "-inf"].includes(stages.decoded(data, unit, fmt, code).value)) return code;
      }
    };
    const near = (fmt, what) => stages.encoded(data, unit, fmt, ((random() + random() + random() - 1.5) * 2).toFixed(6), what);
    const factor = (field) => Array.from({ length: k }, () => { const fmt = formatOf(unit, field); return widthOf(fmt) <= 8 ? finite(fmt) : near(fmt, field); });
    const drawnCodes = { a: factor("a"), b: factor("b") };
    if (unit.addend) drawnCodes.c = near(unit.addend, "c");
    for (const side of unit.scaled ? ["a", "b"] : []) {
      const fmt = unit.get(`scale.${side}.format`), count = k / unit.get(`scale.${side}.length`);
      drawnCodes[`scale_${side}`] = Array.from({ length: count }, () => {
        try { return stages.encoded(data, unit, fmt, `0x1p${Math.floor(random() * 7) - 3}`, "scale"); }
        catch { return finite(fmt); }
      });
    }
    return drawnCodes;
  }

  // ---- Units. ----

  function setUnit(index, named) {
    const side = state.sides[index] ?? (state.sides[index] = {});
    const keys = typeof named === "string" ? data.presets[named] : named;
    if (!keys) throw new Wrong(`unknown unit ${named}`);
    side.name = typeof named === "string" ? named : keys.unit ?? "unit";
    side.preset = typeof named === "string" ? named : null;
    side.text = unitKeys.yamlText(keys);
    take(side, keys);
  }

  function take(side, keys) {
    try {
      side.unit = unitKeys.checked(data, keys);
      side.keys = keys;
      side.error = "";
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      side.error = error.message;
    }
  }

  function edit(side, text) {
    side.text = text;
    try {
      const keys = unitKeys.readYaml(text);
      side.preset = null;
      side.name = isMapping(keys) ? String(keys.unit ?? "unit") : "unit";
      take(side, keys);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      side.error = error.message;
    }
    show();
  }

  function change(side, path, value) {
    const keys = structuredClone(side.keys), names = path.split("."), last = names.pop();
    let part = keys;
    for (const name of names) part = part[name] = isMapping(part[name]) ? part[name] : {};
    part[last] = value;
    if (side.preset) keys.unit = `${side.preset.replace(":", "-")}-changed`;
    side.text = unitKeys.yamlText(keys);
    side.preset = null;
    side.name = String(keys.unit);
    take(side, keys);
    show();
  }

  // Controls for the keys that the unit has: words to choose from, numbers, formats by name.
  function knobs(side, index) {
    const made = [];
    for (const key of data.table) {
      const now = side.unit.get(key.path);
      if (key.path.startsWith("scale.") || key.path === "instruction.order" || (now === undefined && !key.none)) continue;
      if (now === undefined && key.path.split(".").length > 2) continue;
      if (key.of.length && now === undefined) continue;
      if (key.path.startsWith("late.") && now === undefined) continue;
      const id = `knob${index}-${key.path}`, set = (text) => change(side, key.path, key.flag ? text === "true" : key.bounds && /^-?\d+$/.test(text) ? Number(text) : text);
      const text = now === undefined ? "none" : isMapping(now) ? now.name : String(now);
      const words = key.format ? Object.keys(data.formats).filter((name) => !name.startsWith("binary") || name === text) : key.choices;
      const choices = key.bounds && !key.choices.length ? null : [...new Set([...words, ...(key.none ? ["none"] : []), text])];
      const control = choices
        ? el("select", { id, onchange: (event) => set(event.target.value) }, choices.map((each) => el("option", { value: each, selected: each === text }, each)))
        : el("input", { id, value: text, inputMode: key.none ? "text" : "numeric", onchange: (event) => set(event.target.value.trim()) });
      made.push(el("label", { title: key.meaning, htmlFor: id }, key.path, control));
    }
    return el("div", { class: "knobs" }, made);
  }

  function unitPanel(side, index) {
    const id = `unit${index}`, two = state.sides.length > 1;
    const picker = el("input", { id, list: "presets", value: side.name, onchange: (event) => pick(index, event.target.value.trim()), onfocus: (event) => event.target.select() });
    const keys = el("textarea", { id: `keys${index}`, rows: 16, value: side.text, "aria-label": `Keys of unit ${index + 1} as YAML`, onchange: (event) => edit(side, event.target.value) });
    const buttons = el("div", { class: "bar" },
      index === 0 && !two ? el("button", { type: "button", class: "small", id: "compare", onclick: () => { setUnit(1, other(side.name)); show(); $("unit1").focus(); } }, "Compare with another unit") : "",
      index === 1 ? el("button", { type: "button", class: "small", id: "alone", onclick: () => { state.sides.pop(); show(); $("unit0").focus(); } }, "Show one unit") : "");
    return el("section", { class: "unit", "aria-label": two ? `Unit ${index + 1}` : "Unit" },
      el("label", { htmlFor: id }, two ? `Unit ${index + 1}: a preset's name, or keys below` : "Unit: a preset's name, or keys below"), picker,
      el("p", { class: "summary" }, side.unit?.summary ?? ""),
      buttons,
      el("details", { open: state.open[id], ontoggle: (event) => { state.open[id] = event.target.open; } }, el("summary", {}, "Keys: change one, or paste a unit file's"),
        side.unit ? knobs(side, index) : "", keys),
      side.error ? el("p", { class: "wrong", role: "alert" }, side.error) : "");
  }

  // Another preset, of the same operands where there is one: then both compute the case.
  function other(name) {
    const names = Object.keys(data.presets), at = names.indexOf(name) + 1, operands = (keys) => JSON.stringify([keys?.operands, keys?.scale]);
    const others = [...names.slice(at), ...names.slice(0, at)], own = operands(data.presets[name]);
    return others.find((each) => each !== name && operands(data.presets[each]) === own) ?? others[0];
  }

  function pick(index, name) {
    const side = state.sides[index];
    if (!data.presets[name]) {
      side.error = `unknown preset ${name}`;
      show();
      return;
    }
    const before = side.unit;
    setUnit(index, name);
    // Operands stay where the unit takes them.
    if (index === 0 && before && !fits(side.unit)) fresh();
    show();
  }

  function fits(unit) {
    try {
      const operands = Object.fromEntries(FIELDS.map((field) => [field, parsed(unit, field)]));
      stages.explained(data, unit, operands);
      return true;
    } catch (error) {
      if (error instanceof Wrong) return false;
      throw error;
    }
  }

  function fresh() {
    const { unit } = state.sides[0], codes = drawOperands(unit);
    state.text = {};
    for (const [field, each] of Object.entries(codes)) state.text[field] = written(unit, field, each, state.mode);
    state.group = 0;
  }

  function fieldPanels() {
    const units = state.sides.map((side) => side.unit).filter(Boolean);
    const words = { a: "a", b: "b", c: "c, the addend", scale_a: "scales of a", scale_b: "scales of b" };
    return FIELDS.filter((field) => units.some((unit) => formatOf(unit, field))).map((field) => {
      const names = [...new Set(units.map((unit) => formatOf(unit, field)?.name).filter(Boolean))].join(" / ");
      const count = (state.text[field] ?? "").split(",").length;
      return el("label", { htmlFor: `field-${field}` }, el("b", {}, words[field]), ` ${names}${field === "c" ? "" : `, ${plural(count, state.mode.slice(0, -1))}`}`,
        el("textarea", { id: `field-${field}`, rows: Math.min(3, Math.ceil((state.text[field] ?? "").length / 38) || 1), value: state.text[field] ?? "", onchange: (event) => { state.text[field] = event.target.value; show(); } }));
    });
  }

  // ---- Pictures: rows of bits, and what is lost below a window. ----

  const CELL = 12, ROW = 20, HEAD = 34, GLYPH = 7.3, GAP = 8;

  function windowPicture(shown, title) {
    const kept = shown.top - shown.last + 1, depth = shown.rows[0].lost.length;
    if (kept + depth > MOST_SHOWN) return el("p", { class: "quiet" }, `${kept + depth} places are too many to draw.`);
    const wide = (texts) => Math.max(...texts.map((text) => text.length)) * GLYPH;
    const left = wide(shown.rows.map((row) => row.label)) + 30, edge = left + kept * CELL;
    const ends = edge + (depth ? GAP + depth * CELL : 0), numbers = ends + 14 + wide(shown.rows.map((row) => row.aligned));
    const width = numbers + 16 + wide(shown.rows.map((row) => row.note)), height = HEAD + shown.rows.length * ROW + 12;
    const bar = (x, y, w, h, kind) => drawn("rect", { x, y, width: w, height: h, class: kind, rx: kind.startsWith("window") || kind === "below" || kind === "maximum" ? 0 : 3 });
    const words = (x, y, text, kind, anchor) => drawn("text", { x, y, class: kind, "text-anchor": anchor }, text);
    const parts = [bar(left, HEAD - 4, edge - left, height - HEAD, "window")];
    if (depth) parts.push(bar(edge + GAP, HEAD - 4, depth * CELL, height - HEAD, "below"));
    const top = left + (shown.top - shown.max_exp) * CELL;
    if (shown.max_exp !== null) {
      parts.push(bar(top, HEAD - 4, CELL, height - HEAD, "maximum"));
      parts.push(words(top + 6, 12, `max_exp ${power(shown.max_exp)}`, "axis", top > left + 40 ? "middle" : "start"), words(top + 6, 25, "▼", "mark", "middle"));
    }
    parts.push(words(edge - 6, 25, power(shown.last), "axis", "middle"));
    if (shown.max_exp === null || shown.top - shown.max_exp > 3) parts.push(words(left + 6, 25, power(shown.top), "axis", "middle"));
    if (depth) parts.push(words(edge + GAP, edge - top > 100 ? 12 : 25, "lost", "axis lost", "start"));
    shown.rows.forEach((row, index) => {
      const last = ["sum", "cut", "result"].includes(row.label), y = HEAD + index * ROW + (last ? 6 : 0);
      const own = row.label === "cut" ? "sum" : last ? row.label : "kept";
      for (const [bits, start, kind] of [[row.kept, left, own], [row.lost, edge + GAP, own === "result" ? "result" : "lost"]]) {
        const places = [...bits].map((bit, i) => (bit === "0" || bit === "1" ? i : -1)).filter((i) => i >= 0);
        if (!places.length) continue;
        const negative = row.sign === "-" && kind === "kept" ? " negative" : "";
        parts.push(bar(start + places[0] * CELL, y + 1, (places.at(-1) - places[0] + 1) * CELL, ROW - 4, kind + negative));
        for (const [digit, style] of [["1", "one"], ["0", "zero"]]) {
          const here = places.filter((i) => bits[i] === digit);
          if (here.length) parts.push(words(here.map((i) => start + i * CELL + 6).join(" "), y + 13, digit.repeat(here.length), `bit ${style} ${kind}`, "middle"));
        }
      }
      parts.push(words(left - 22, y + 13, row.label, own === "kept" ? "label" : own, "end"), words(left - 12, y + 13, minus(row.sign), "sign", "middle"));
      parts.push(words(numbers, y + 13, minus(row.aligned), "number", "end"), words(numbers + 10, y + 13, row.note, "note", "start"));
      if (row.label === "sum") parts.push(bar(left - 30, y - 4, numbers - left + 30, 1, "rule"));
    });
    const losing = shown.rows.filter((row) => row.lost.includes("1")).length;
    const label = `${title}: ${shown.rows.length} rows of bits from ${power(shown.top)} to ${power(shown.last)}; ${plural(losing, "row")} with ones below the window`;
    return el("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": title }, drawn("svg", { class: "picture", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts));
  }

  // ---- Numbers in words. ----

  function bitsOf(fmt, code) {
    const width = widthOf(fmt), text = BigInt(code).toString(2).padStart(width, "0"), parts = [];
    const cut = fmt.kind === "float" ? [["s", fmt.signed ? 1 : 0], ["e", fmt.exponent_bits], ["f", fmt.fraction_bits], ["p", width]] : [[fmt.kind === "fixed" ? "f" : "e", width]];
    let at = 0;
    for (const [kind, length] of cut) {
      const piece = text.slice(at, at + length);
      if (piece) parts.push(el("i", { class: kind }, piece));
      at += length;
    }
    return el("span", { class: "bits", title: code }, parts);
  }

  const numberOf = (unit, number) => [el("span", { class: "mono" }, number.code), " = ", el("b", {}, minus(number.value))];
  const fmtNamed = (unit, name) => unit.packed.formats.find((fmt) => fmt.name === name);

  function termText(term) {
    if (term.class === "nan") return "NaN";
    if (term.class === "infinity") return term.sign ? "−∞" : "+∞";
    if (term.class === "zero") return term.sign ? "−0" : "+0";
    return `${term.sign ? "−" : "+"}${term.sig} · ${power(term.exp - term.fraction_bits)}`;
  }

  // ---- The stages of a group. ----

  const isWindow = (unit) => ["aligned", "even-odd"].includes(unit.get("sum.method"));

  // Where a term stands below the largest exponent, with how much of a window that is.
  function distance(term, max_exp, bits) {
    if (max_exp === null || term.class !== "normal") return [el("td", {}), el("td", {})];
    const far = max_exp - term.exp, share = Math.min(1, Math.max(0, far) / Math.max(1, bits + 4));
    return [el("td", { class: "n" }, String(far)), el("td", {}, el("span", { class: `far${far > bits ? " out" : ""}`, style: `width:${(share * 5).toFixed(2)}rem` }))];
  }

  function multiplied(side, group, apart) {
    const { unit } = side, scaled = unit.get("scale.at") === "product", parts = group.subgroups.length > 0;
    const aligned = isWindow(unit) && !parts && !group.special, halves = group.halves;
    const header = ["", "a", "b", ...(scaled ? ["scale"] : []), "product", ...(aligned ? ["exp", "distance", "", "aligned"] : [])];
    const rows = [];
    let zeros = [];
    const flush = () => {
      if (zeros.length) rows.push(el("tr", {}, el("th", { scope: "row" }, zeros.length > 1 ? `${group.indices[zeros[0]]}–${group.indices[zeros.at(-1)]}` : group.indices[zeros[0]]), el("td", { colSpan: header.length - 1, class: "quiet" }, zeros[0] >= group.used ? "no product: filled with +0" : "+0 × +0")));
      zeros = [];
    };
    group.indices.forEach((index, lane) => {
      const a = group.a[lane], b = group.b[lane], term = group.products[lane];
      if (BigInt(a.given.code) === 0n && BigInt(b.given.code) === 0n && term.class === "zero") { zeros.push(lane); return; }
      flush();
      const own = halves ? (lane % 2 ? halves.odd : halves.even) : group;
      const sub = (each) => (each.multiplied.class === "subnormal" ? el("small", { class: "quiet" }, " sub") : each.multiplied.class === "zero" && Number(each.given.value) !== 0 ? el("small", { class: "quiet" }, " as 0") : "");
      rows.push(el("tr", { class: apart?.has(lane) ? "apart" : "" }, el("th", { scope: "row" }, index),
        [["operands.a", a], ["operands.b", b]].map(([path, each]) => el("td", { class: "code" }, bitsOf(unit.get(path), each.given.code), el("b", { class: "mono", title: each.given.value }, minus(each.given.value), sub(each)))),
        scaled ? el("td", { class: "n" }, group.scale_exp[lane] === null ? "NaN" : power(group.scale_exp[lane])) : "",
        el("td", { class: "n" }, termText(term)),
        aligned ? [el("td", { class: "n" }, term.class === "normal" ? String(term.exp) : ""), ...distance(term, own.max_exp, own.fraction_bits), el("td", { class: "n" }, minus(group.aligned[lane] ?? ""))] : ""));
    });
    flush();
    if (group.addend) {
      const { given, carried, term } = group.addend;
      rows.push(el("tr", { class: `sum${apart?.has("addend") ? " apart" : ""}` }, el("th", { scope: "row" }, "addend"),
        el("td", { colSpan: 2 }, carried ? "the exact sum so far" : [el("span", { class: "mono" }, given.code), " = ", minus(given.value)]), scaled ? el("td") : "", el("td", { class: "n" }, termText(term)),
        aligned ? [el("td", { class: "n" }, term.class === "normal" ? String(term.exp) : ""), ...distance(term, group.max_exp, group.fraction_bits), el("td", { class: "n" }, minus(group.aligned.at(-1)))] : ""));
    }
    return scrolled("Factors and products", el("table", {}, el("thead", {}, el("tr", {}, header.map((each, i) => el("th", { scope: "col", class: i > 2 ? "n" : "" }, each)))), el("tbody", {}, rows)));
  }

  const scrolled = (label, what) => el("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": label }, what);

  function subgroups(side, group) {
    const { unit } = side, windowed = isWindow(unit), size = group.products.length / group.subgroups.length, own = unit.get("sum.subgroup.method") === "aligned";
    const scaled = group.subgroups[0].scale_a !== null, header = ["products", ...(own ? ["own max_exp"] : []), "sum", ...(scaled ? ["scale a", "scale b"] : []), "as a term", ...(windowed ? ["exp", "distance", "", "aligned"] : [])];
    const scale = (fields) => termText({ ...fields, fraction_bits: 0, exp: fields.exp, class: fields.class === "subnormal" ? "normal" : fields.class });
    const bits = (name) => unit.get(`scale.${name}.format`)?.fraction_bits ?? 0;
    const rows = group.subgroups.map((part, i) => el("tr", {}, el("th", { scope: "row" }, `${group.indices[i * size]}–${group.indices[i * size + size - 1]}`),
      own ? el("td", { class: "n" }, part.window.max_exp === null ? "" : String(part.window.max_exp)) : "",
      el("td", { class: "n" }, `${minus(part.total)} · ${power(part.unit_exp)}`),
      scaled ? ["a", "b"].map((name) => el("td", { class: "n" }, scale({ ...part[`scale_${name}`], exp: part[`scale_${name}`].exp - bits(name) }))) : "",
      el("td", { class: "n" }, termText(part.term)),
      windowed ? [el("td", { class: "n" }, part.term.class === "normal" ? String(part.term.exp) : ""), ...distance(part.term, group.max_exp, group.fraction_bits), el("td", { class: "n" }, minus(group.aligned[i] ?? ""))] : ""));
    return scrolled("Sums of parts", el("table", {}, el("thead", {}, el("tr", {}, header.map((each) => el("th", { scope: "col", class: "n" }, each)))), el("tbody", {}, rows)));
  }

  function additions(side, group) {
    const rows = group.steps.map((step) => el("tr", {}, el("th", { scope: "row" }, step.name), el("td", { class: "n" }, step.terms.map(termText).join("   +   ")), el("td", {}, bitsOf(fmtNamed(side.unit, step.sum.format), step.sum.code)), el("td", { class: "n" }, minus(step.sum.value))));
    return scrolled("Rounded additions", el("table", {}, el("thead", {}, el("tr", {}, ["addition", "exactly", `rounded to ${group.steps[0].sum.format}`, ""].map((each, i) => el("th", { scope: "col", class: i === 1 || i === 3 ? "n" : "" }, each)))), el("tbody", {}, rows)));
  }

  function halvesPictures(side, group) {
    return ["even", "odd"].map((name) => {
      const half = group.halves[name], first = name === "odd" ? 1 : 0;
      const rows = half.aligned.map((aligned, i) => ({ label: String(group.indices[2 * i + first]), term: group.products[2 * i + first], aligned }));
      const shown = stages.picture(rows, half.max_exp, half.fraction_bits, half.total);
      return [el("h3", {}, `${name === "even" ? "Even" : "Odd"} lanes`), shown ? windowPicture(shown, `The window of the ${name} lanes`) : el("p", {}, "Every term is zero.")];
    }).concat([[el("h3", {}, "Both"), el("p", { class: "equation" }, `${minus(group.halves.both.aligned[0])} + ${minus(group.halves.both.aligned[1])} = ${minus(group.halves.both.total)}`, group.max_exp === null ? "" : ` in units of ${power(group.max_exp - group.fraction_bits)}`)]]);
  }

  function summed(side, group) {
    const { unit } = side;
    if (group.special) return [el("p", { class: "equation" }, `The terms come to ${termText(group.special)}: nothing is aligned.`)];
    if (group.steps.length) return additions(side, group);
    if (group.halves) return halvesPictures(side, group);
    if (unit.get("sum.method") === "exact") {
      const [labels, terms] = stages.labelled(group), unit_exp = group.unit_exp ?? 0;
      const shown = stages.picture(terms.map((term, i) => ({ label: labels[i], term, aligned: "" })), null, -unit_exp, group.total);
      return [shown && shown.rows.length > 1 ? windowPicture(shown, "The exact sum") : "", el("p", { class: "equation" }, el("b", {}, minus(group.total)), ` · ${power(unit_exp)}, exactly`)];
    }
    if (!group.window) return [el("p", { class: "equation" }, "Every term is zero.")];
    const cut = group.uncut === null ? "" : ` (cut from ${minus(group.uncut)})`;
    return [windowPicture(group.window, "The window"), el("p", { class: "equation" }, "sum ", el("b", {}, minus(group.total)), ` · ${power(group.max_exp - group.fraction_bits)}${cut}${group.sticky ? ", and a sticky 1 below" : ""}`)];
  }

  function rounding(side, group) {
    const { unit } = side, fmt = unit.get("result.format");
    return [el("p", { class: "equation" }, `${unit.get("result.rounding")} to ${fmt.name}: `, bitsOf(fmt, group.result.code), " ", numberOf(unit, group.result)),
      el("p", {}, ["inexact", "overflow", "tiny"].map((name) => el("span", { class: `chip${group.rounded[name] ? " on" : ""}` }, group.rounded[name] ? name : `not ${name}`)))];
  }

  function after(side, group) {
    const { unit } = side, { promotion, late } = group;
    if (promotion) return ["Promotion", el("p", { class: "equation" }, "register ", numberOf(unit, promotion.register), " + partial ", numberOf(unit, promotion.partial), promotion.scaled ? [" × scale ", numberOf(unit, promotion.first), " → ", numberOf(unit, promotion.scaled)] : "", promotion.scale ? [" × scale ", numberOf(unit, promotion.scale)] : "", ` → ${unit.get("promotion.rounding")} → `, numberOf(unit, promotion.result))];
    if (!late) return null;
    const w = late.window, words = w && w.max_exp !== null ? el("p", {}, `In a window at ${power(w.max_exp)}: addend ${minus(w.kept_addend)}${w.dropped ? " (dropped)" : ""} + sum ${minus(w.kept_sum)}, in units of ${power(w.max_exp - w.fraction_bits)}${w.cut ? `, cut to ${minus(w.total)} · ${power(w.unit_exp)}` : ""}`) : "";
    return ["Late addend", [el("p", { class: "equation" }, "addend ", numberOf(unit, late.addend), w ? " + sum" : [" + partial ", numberOf(unit, late.partial)], " → ", numberOf(unit, late.result)), words]];
  }

  function stageParts(side, group, apart) {
    const own = (name, title, small, ...what) => el("section", { class: `stage${apart?.stage === name ? " apart" : ""}${name === "products" ? " wide" : ""}` }, el("h3", {}, title, small ? el("small", {}, small) : ""), ...what);
    const method = side.unit.get("sum.method"), then = after(side, group), lost = group.window ? group.window.rows.filter((row) => row.lost.includes("1") && row.label !== "result").length : 0;
    return [
      own("products", "Decode, multiply" + (isWindow(side.unit) && !group.subgroups.length ? ", measure distances" : ""), plural(group.used, "product"), multiplied(side, group, apart?.lanes)),
      group.subgroups.length ? own("parts", "Sums of parts", plural(group.subgroups.length, "part"), subgroups(side, group)) : "",
      own("sum", { aligned: "Align and add", "even-odd": "Align and add in two windows", exact: "Add exactly", sequential: "Add one after the other", pairwise: "Add in a tree" }[method], lost ? `${plural(lost, "term")} lose${lost === 1 ? "s" : ""} ones below the window` : "", ...[summed(side, group)].flat(Infinity)),
      own("round", "Round", "", ...rounding(side, group)),
      then ? own("after", then[0], "", then[1]) : "",
    ];
  }

  // ---- Two units: the first stage that differs. ----

  // Each: where it is shown, what it is, and what is compared of it, of the lanes that hold products.
  const STAGES = [
    ["groups", "which products are added together", (group, lanes) => lanes.map((lane) => group.indices[lane])],
    ["products", "decode", (group, lanes) => lanes.map((lane) => [group.a[lane], group.b[lane]].map((each) => [each.given.value, each.multiplied.class === "zero"]))],
    ["products", "products", (group, lanes) => lanes.map((lane) => value(group.products[lane]))],
    ["products", "addend", (group) => value(group.addend?.term ?? { sign: 0, class: "zero" })],
    ["parts", "sums of parts", (group, lanes) => group.subgroups.map((part) => value(part.term)).slice(0, Math.ceil(lanes.length * group.subgroups.length / group.products.length))],
    ["products", "distances", distances],
    ["sum", "window", (group, lanes) => windowUnits(group, lanes).map(([aligned, unit]) => exact(aligned, unit))],
    ["sum", "sum", (group) => (group.steps.length ? group.steps.map((step) => step.sum.value) : group.special ? "" : exact(group.total, group.unit_exp ?? 0))],
    ["round", "rounding", (group) => group.result.value],
    ["after", "what follows", (group) => [group.promotion?.result.value, group.late?.result.value]],
  ];

  const frameOf = (group, lane) => (group.halves ? [group.halves.even, group.halves.odd][lane % 2] : group);

  // By how many places terms stand below the largest exponent, in a window of products.
  function distances(group, lanes) {
    if (group.subgroups.length || !group.aligned.length || group.special) return [];
    return lanes.map((lane) => { const { max_exp } = frameOf(group, lane), term = group.products[lane]; return term.class === "normal" ? max_exp - term.exp : null; });
  }

  function windowUnits(group, lanes) {
    if (!group.aligned.length || group.special) return [];
    const terms = group.subgroups.length ? group.subgroups.map((_, i) => i) : lanes, last = group.addend ? [group.aligned.length - 1] : [];
    return [...terms, ...last].map((i) => { const frame = i < group.products.length ? frameOf(group, i) : group; return [group.aligned[i], (frame.max_exp ?? 0) - frame.fraction_bits]; });
  }

  // A number without its unit: an odd integer and a power of two.
  function exact(text, exp) {
    let whole = BigInt(text);
    if (!whole) return "0";
    while (!(whole & 1n)) { whole >>= 1n; exp++; }
    return `${whole}*2^${exp}`;
  }

  function value(term) {
    return term.class === "normal" ? `${term.sign ? "-" : ""}${exact(term.sig, term.exp - term.fraction_bits)}` : `${term.sign}${term.class}`;
  }

  const method = (group) => (group.special ? "special" : group.steps.length ? "steps" : group.halves ? "halves" : group.aligned.length ? "window" : "exact");

  function parting(one, two) {
    const groups = Math.min(one.groups.length, two.groups.length);
    for (let index = 0; index < groups; index++) {
      const x = one.groups[index], y = two.groups[index];
      const held = [[x, one.k], [y, two.k]].map(([group, k]) => group.indices.map((_, lane) => lane).filter((lane) => group.indices[lane] < k));
      for (const [stage, words, part] of STAGES) {
        if (stage === "sum" && method(x) !== method(y)) return { index, stage, words: "sum", lanes: new Set() };
        const p = part(x, held[0]), q = part(y, held[1]);
        if (JSON.stringify(p) === JSON.stringify(q) || (words === "distances" && method(x) !== method(y))) continue;
        const lanes = new Set();
        if (["products", "distances", "decode"].includes(words)) p.forEach((each, i) => { if (JSON.stringify(each) !== JSON.stringify(q[i])) lanes.add(i); });
        if (words === "addend") lanes.add("addend");
        return { index, stage, words, lanes };
      }
    }
    if (one.groups.length !== two.groups.length) return { index: groups, stage: "groups", words: "number of groups", lanes: new Set() };
    return one.result.value === two.result.value ? null : { index: groups - 1, stage: "after", words: "result", lanes: new Set() };
  }

  // ---- The whole page. ----

  function compute() {
    for (const side of state.sides) {
      side.record = null;
      side.wrong = "";
      if (!side.unit || side.error) continue;
      try {
        side.operands = Object.fromEntries(FIELDS.map((field) => [field, parsed(side.unit, field)]));
        side.record = stages.explained(data, side.unit, side.operands);
      } catch (error) {
        if (!(error instanceof Wrong)) throw error;
        side.wrong = error.message;
      }
    }
  }

  function answers(apart) {
    const two = state.sides.length > 1;
    const boxes = state.sides.map((side) => {
      if (!side.record) return el("div", { class: "answer" }, el("span", { class: "quiet" }, side.name), el("p", { class: "wrong", role: "alert" }, side.error || side.wrong));
      const left = !side.unit.addend && (state.text.c ?? "").trim() && two ? " c is left out: it has no addend." : "";
      return el("div", { class: "answer" }, el("span", { class: "quiet" }, `${side.name}: ${plural(side.record.k, "product")} in ${plural(side.record.groups.length, "group")}.${left}`),
        el("strong", {}, minus(side.record.result.value)), bitsOf(side.unit.output, side.record.result.code), " ", el("span", { class: "quiet mono" }, `${side.record.result.code} ${side.record.result.format}`));
    });
    const got = gotCode(), first = state.sides[0];
    if (got && first.record) {
      const fmt = first.unit.output, text = hex(fmt, stages.code(fmt, got, "got"));
      boxes.splice(1, 0, el("div", { class: `answer ${text === first.record.result.code ? "" : "bad"}` }, el("span", { class: "quiet" }, "what the design returned"),
        el("strong", {}, minus(stages.decoded(data, first.unit, fmt, BigInt(got)).value)), bitsOf(fmt, text), " ", el("span", { class: "quiet mono" }, `${text} ${fmt.name}`)));
    }
    const made = [el("div", { class: "results" }, boxes)];
    if (two && state.sides.every((side) => side.record)) {
      const names = [...new Set(STAGES.map((each) => each[1]))], at = apart ? names.indexOf(apart.words) : names.length;
      const chain = el("ol", { class: "chain" }, names.map((name, i) => el("li", { class: i < at ? "same" : i === at ? "apart" : "" }, name)), apart && at < 0 ? el("li", { class: "apart" }, apart.words) : "");
      made.push(el("div", { class: `part ${apart ? "apart" : "same"}` }, el("strong", {}, apart ? `They part in group ${apart.index}: ${apart.words}` : "They agree in every stage"), at < 0 ? "" : chain));
    }
    return made;
  }

  function beats(apart) {
    const most = Math.max(0, ...state.sides.map((side) => side.record?.groups.length ?? 0));
    if (most < 2) return [];
    const record = state.sides.find((side) => side.record?.groups.length === most).record;
    const listed = record.groups.length > 64 ? record.groups.filter((_, i) => i < 32 || i >= most - 16 || Math.abs(i - state.group) < 8) : record.groups;
    return listed.map((group) => {
      const number = group.promotion?.result ?? group.late?.result ?? group.result;
      return el("button", { type: "button", class: apart?.index === group.index ? "apart" : "", "aria-current": group.index === state.group ? "true" : null, onclick: () => { state.group = group.index; show(); $("beats").querySelector("[aria-current]")?.focus(); } },
        `group ${group.index}`, el("small", {}, minus(number.value)));
    });
  }

  function show() {
    compute();
    const two = state.sides.length > 1, records = state.sides.map((side) => side.record);
    const most = Math.max(1, ...records.map((record) => record?.groups.length ?? 0));
    const apart = two && records.every(Boolean) ? parting(...records) : null;
    state.group = Math.min(state.group, most - 1);
    document.body.classList.toggle("two", two);
    const focus = document.activeElement?.id;
    $("units").replaceChildren(...state.sides.map(unitPanel));
    $("fields").replaceChildren(...fieldPanels());
    for (const radio of document.querySelectorAll("[name=mode]")) radio.checked = radio.value === state.mode;
    $("verdict").replaceChildren(...answers(apart));
    $("beats").replaceChildren(...beats(apart));
    $("stages").replaceChildren(el("div", { class: "columns" }, state.sides.map((side) => {
      const group = side.record?.groups[state.group];
      if (!group) return side.record ? el("article", {}, el("h2", {}, side.name), el("p", { class: "quiet" }, `has no group ${state.group}`)) : "";
      return el("article", { "aria-label": `${side.name}, group ${group.index}` }, el("h2", {}, side.name, el("small", { class: "quiet" }, ` group ${group.index}`)),
        stageParts(side, group, apart?.index === group.index ? apart : null));
    })));
    if (focus && $(focus)) $(focus).focus();
    history.replaceState(null, "", `#${fragment()}`);
    $("command").textContent = command();
    document.title = `${state.sides.map((side) => side.name).join(" and ")}: microscope`;
  }

  function command() {
    const { name, preset, operands, record } = state.sides[0];
    if (!record || operands.a.length > 64) return "hwsim explain";
    const list = (codes) => codes.map((code) => `0x${code.toString(16)}`).join(",");
    const parts = [`hwsim explain ${preset ?? `${name}.yaml`}`, `--a ${list(operands.a)}`, `--b ${list(operands.b)}`];
    if (operands.c !== undefined) parts.push(`--c 0x${operands.c.toString(16)}`);
    if (operands.scale_a) parts.push(`--scale-a ${list(operands.scale_a)}`, `--scale-b ${list(operands.scale_b)}`);
    return parts.join(" ");
  }

  // ---- Links. ----

  // The units and operands of a case, as a link has them.
  function caseParts() {
    const parts = state.sides.map((side, i) => ["uv"[i], side.preset ?? JSON.stringify(side.keys, (_, x) => (typeof x === "bigint" ? Number(x) : x))]);
    for (const field of FIELDS) {
      const typed = (state.text[field] ?? "").replace(/\s+/g, "");
      if (typed) parts.push([field, typed]);
    }
    return state.mode === "values" ? [...parts, ["as", "values"]] : parts;
  }

  // What a design returned for the case of a link, as long as that is the case.
  const gotCode = () => (state.got && state.got.of === JSON.stringify(caseParts()) ? state.got.code : null);

  function fragment() {
    const parts = caseParts();
    if (gotCode()) parts.push(["got", gotCode()]);
    if (state.group) parts.push(["g", String(state.group)]);
    return parts.map(([name, text]) => `${name}=${encodeURIComponent(text).replace(/%(2C|3A|7B|7D|5B|5D)/g, decodeURIComponent)}`).join("&");
  }

  function restore(text) {
    const given = new Map(text.replace(/^#/, "").split("&").filter(Boolean).map((part) => {
      const at = part.indexOf("=");
      return [part.slice(0, at), decodeURIComponent(part.slice(at + 1))];
    }));
    const units = ["u", "v"].filter((name) => given.has(name)).map((name) => given.get(name));
    if (!units.length) return false;
    state.sides = [];
    units.forEach((text, index) => setUnit(index, text.startsWith("{") ? JSON.parse(text) : text));
    state.mode = given.get("as") === "values" ? "values" : "codes";
    state.text = {};
    for (const field of FIELDS) if (given.has(field)) state.text[field] = given.get(field).replaceAll(",", ", ");
    if (!given.has("a") && state.sides[0].unit) fresh();
    state.group = Number(given.get("g") ?? 0) || 0;
    state.got = given.has("got") ? { code: given.get("got"), of: JSON.stringify(caseParts()) } : null;
    return true;
  }

  // ---- Begin. ----

  await stages.load(data);
  $("presets").append(...Object.entries(data.presets).map(([name, keys]) => el("option", { value: name, label: keys.summary ?? "" })));
  $("random").addEventListener("click", () => { if (state.sides[0].unit) { fresh(); show(); } });
  for (const radio of document.querySelectorAll("[name=mode]"))
    radio.addEventListener("change", () => {
      const { unit, operands } = state.sides[0];
      if (unit && operands) for (const field of FIELDS) if (operands[field] !== undefined) state.text[field] = written(unit, field, operands[field], radio.value);
      state.mode = radio.value;
      show();
    });
  $("link").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      $("told").textContent = "copied";
    } catch {
      $("told").textContent = "the link is this page's address";
    }
    setTimeout(() => { $("told").textContent = ""; }, 4000);
  });
  $("case").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("keydown", (event) => {
    if (event.target.matches?.("input, textarea, select") || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], scroll = event.target.closest?.(".scroll");
    if (!step || scroll) return;
    const groups = state.sides[0].record?.groups.length ?? 1, next = state.group + step;
    if (next >= 0 && next < groups) { state.group = next; show(); }
  });
  addEventListener("hashchange", () => { if (decodeURIComponent(location.hash) !== decodeURIComponent(`#${fragment()}`) && restore(location.hash)) show(); });
  try {
    if (!restore(location.hash) && !(data.case && restore(data.case))) {
      setUnit(0, "hopper-wgmma-e4m3-f32");
      fresh();
    }
  } catch (error) {
    if (!(error instanceof Wrong) && !(error instanceof SyntaxError)) throw error;
    state.mode = "values";
    setUnit(0, "hopper-wgmma-e4m3-f32");
    fresh();
    $("told").textContent = `the link holds no case: ${error.message}`;
  }
  show();
  document.documentElement.dataset.ready = "yes";
})();
