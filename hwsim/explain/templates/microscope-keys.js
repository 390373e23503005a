// A unit's keys: read from YAML, checked by the table of keys, and written as numbers where the program has them.
"use strict";
const unitKeys = (() => {
  const NONE = -(2n ** 63n);

  class Wrong extends Error {}

  // ---- YAML, as far as unit files have it: mappings, lists, words, numbers, quoted and folded text. ----

  function uncommented(line) {
    let quote = "";
    for (let i = 0; i < line.length; i++) {
      const c = line[i];
      if (quote) {
        if (c === "\\" && quote === '"') i++;
        else if (c === quote) quote = "";
      } else if ((c === '"' || c === "'") && /^$|[\s[{,:-]/.test(line[i - 1] || "")) quote = c;
      else if (c === "#" && (i === 0 || /\s/.test(line[i - 1]))) return line.slice(0, i);
    }
    return line;
  }

  // Whether brackets and quotes that a text opens are still open.
  function isOpen(text) {
    let depth = 0, quote = "";
    for (let i = 0; i < text.length; i++) {
      const c = text[i];
      if (quote) {
        if (c === "\\" && quote === '"') i++;
        else if (c === quote) quote = "";
      } else if ((c === '"' || c === "'") && /^$|[\s[{,:-]/.test(text[i - 1] || "")) quote = c;
      else if ("[{".includes(c)) depth++;
      else if ("]}".includes(c)) depth--;
    }
    return depth > 0 || quote !== "";
  }

  function scalar(text) {
    if (/^[&*!|>%@`]/.test(text)) throw new Wrong(`${text[0]} is YAML that this page does not read`);
    if (/^(null|Null|NULL|~|)$/.test(text)) return null;
    if (/^(true|True|TRUE|yes|Yes|YES|on|On|ON)$/.test(text)) return true;
    if (/^(false|False|FALSE|no|No|NO|off|Off|OFF)$/.test(text)) return false;
    if (/^[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)$/.test(text)) {
      const bare = text.replaceAll("_", "").replace(/^[-+]/, "");
      const value = BigInt(bare) * (text[0] === "-" ? -1n : 1n);
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    }
    if (/^[-+]?0[0-7_]+$/.test(text)) return parseInt(text.replaceAll("_", ""), 8);
    return text;
  }

  const ESCAPES = { n: "\n", t: "\t", r: "\r", 0: "\0", '"': '"', "\\": "\\", "/": "/", " ": " ", _: "\u00a0" };

  // A flow value at a place of a text: the value, and where it ends.
  function flow(text, at, inside) {
    const skip = () => { while (at < text.length && /\s/.test(text[at])) at++; };
    skip();
    const c = text[at];
    if (c === "[" || c === "{") {
      const list = c === "[", made = list ? [] : {}, end = list ? "]" : "}";
      at++;
      for (;;) {
        skip();
        if (at >= text.length) throw new Wrong(`${c} is not closed`);
        if (text[at] === end) return [made, at + 1];
        let value;
        [value, at] = flow(text, at, true);
        skip();
        if (list) made.push(value);
        else {
          const key = String(value);
          if (text[at] !== ":") throw new Wrong(`${key} has no value`);
          [value, at] = flow(text, at + 1, true);
          if (Object.hasOwn(made, key)) throw new Wrong(`${key} stands twice`);
          made[key] = value;
          skip();
        }
        if (text[at] === ",") at++;
        else if (text[at] !== end) throw new Wrong(`a comma or ${end} is missing before ${text.slice(at, at + 12)}`);
      }
    }
    if (c === '"' || c === "'") {
      let made = "";
      for (at++; ; at++) {
        if (at >= text.length) throw new Wrong(`${c} is not closed`);
        if (text[at] === c) {
          if (c === "'" && text[at + 1] === "'") { made += "'"; at++; continue; }
          return [made, at + 1];
        }
        if (c === '"' && text[at] === "\\") {
          at++;
          const length = { x: 2, u: 4, U: 8 }[text[at]];
          if (length) {
            made += String.fromCodePoint(parseInt(text.slice(at + 1, at + 1 + length), 16));
            at += length;
          } else if (text[at] in ESCAPES) made += ESCAPES[text[at]];
          else throw new Wrong(`\\${text[at]} is no character`);
        } else made += text[at];
      }
    }
    const from = at;
    while (at < text.length && !(inside && (",[]{}".includes(text[at]) || (text[at] === ":" && /^$|[\s,[\]{}]/.test(text[at + 1] || ""))))) at++;
    if (inside && at === from) return [null, at];
    return [scalar(text.slice(from, at).trim()), at];
  }

  function value(text) {
    const [made, end] = flow(text, 0, false);
    if (text.slice(end).trim()) throw new Wrong(`${text.slice(end).trim().slice(0, 20)} follows a value`);
    return made;
  }

  const KEY = /^((?:"[^"]*"|'[^']*'|[^\s"'[\]{},#&*!|>%@`-][^:]*?|-[^\s:][^:]*?)):(?:\s+(.*))?$/;

  function readYaml(text) {
    if (/^\s*[{[]/.test(text)) return value(text.split("\n").map(uncommented).join(" "));
    const lines = [];
    text.split("\n").forEach((raw, index) => {
      const line = uncommented(raw.replace(/\r$/, "")).trimEnd();
      if (!line.trim() || /^(---|\.\.\.)$/.test(line) || /^%/.test(line)) return;
      if (/^ *\t/.test(line)) throw new Wrong(`line ${index + 1}: a tab is no indentation`);
      lines.push({ number: index + 1, indent: line.length - line.trimStart().length, text: line.trim() });
    });
    if (!lines.length) throw new Wrong("there are no keys");
    let at = 0;

    // A value that begins on a line, with the lines that go on with it.
    function wide(first, indent) {
      if (/^[|>][-+]?$/.test(first)) {
        const parts = [];
        while (at < lines.length && lines[at].indent > indent) parts.push(lines[at++].text);
        return parts.join(first[0] === "|" ? "\n" : " ");
      }
      while (at < lines.length && (isOpen(first) || (lines[at].indent > indent && !/^["'[{]/.test(first)))) first += ` ${lines[at++].text}`;
      return value(first);
    }

    function nested(indent) {
      const below = lines[at];
      if (!below || below.indent < indent || (below.indent === indent && !/^-(\s|$)/.test(below.text))) return null;
      return block(below.indent);
    }

    function block(indent) {
      const list = /^-(\s|$)/.test(lines[at].text), made = list ? [] : {};
      while (at < lines.length && lines[at].indent === indent) {
        const line = lines[at];
        try {
          if (list) {
            if (!/^-(\s|$)/.test(line.text)) break;
            const rest = line.text.slice(1).trim();
            if (rest && KEY.test(rest) && !/^["'[{]/.test(rest)) {
              line.indent += line.text.length - rest.length;
              line.text = rest;
              made.push(block(line.indent));
            } else {
              at++;
              made.push(rest ? wide(rest, indent) : nested(indent + 1));
            }
            continue;
          }
          const found = KEY.exec(line.text);
          if (!found) throw new Wrong(`${line.text.slice(0, 30)} is no key with a value`);
          const key = /^["']/.test(found[1]) ? value(found[1]) : found[1];
          if (Object.hasOwn(made, key)) throw new Wrong(`${key} stands twice`);
          at++;
          made[key] = found[2] ? wide(found[2], indent) : nested(indent);
        } catch (error) {
          if (error instanceof Wrong && !/^line /.test(error.message)) throw new Wrong(`line ${line.number}: ${error.message}`);
          throw error;
        }
      }
      if (at < lines.length && lines[at].indent > indent) throw new Wrong(`line ${lines[at].number}: is indented too far`);
      return made;
    }

    const made = block(lines[0].indent);
    if (at < lines.length) throw new Wrong(`line ${lines[at].number}: is indented less than what stands above`);
    return made;
  }

  // ---- Writing keys as YAML that `hwsim` reads. ----

  function flowText(x) {
    if (x === null) return "none";
    if (Array.isArray(x)) return `[${x.map(flowText).join(", ")}]`;
    if (typeof x === "object") return `{${Object.entries(x).map(([key, each]) => `${key}: ${flowText(each)}`).join(", ")}}`;
    if (typeof x === "string" && !/^[A-Za-z][\w./ -]*$/.test(x)) return JSON.stringify(x);
    if (typeof x === "string" && scalar(x) !== x) return JSON.stringify(x);
    return String(x);
  }

  function yamlText(keys) {
    return Object.entries(keys).map(([key, each]) => {
      const part = each && typeof each === "object" && !Array.isArray(each);
      if (!part) return `${key}: ${flowText(each)}\n`;
      return `${key}:\n${Object.entries(each).map(([name, x]) => `  ${name}: ${flowText(x)}\n`).join("")}`;
    }).join("");
  }

  // ---- Checking, by the table. ----

  const isMapping = (x) => x !== null && typeof x === "object" && !Array.isArray(x);
  const isInteger = (x) => typeof x === "bigint" || Number.isInteger(x);
  const isNone = (x) => x === undefined || x === null || x === "none";
  const shown = (x) => typeof x === "bigint" ? String(x) : JSON.stringify(x);

  function at(keys, path) {
    return path.split(".").reduce((part, name) => (isMapping(part) && Object.hasOwn(part, name) ? part[name] : undefined), keys);
  }

  function nearest(word, known) {
    const pairs = (x) => new Set([...x].map((c, i) => x.slice(i, i + 2)));
    const own = pairs(word);
    const like = (x) => [...pairs(x)].filter((pair) => own.has(pair)).length / (own.size + pairs(x).size);
    const best = known.reduce((a, b) => (like(b) > like(a) ? b : a), known[0]);
    return like(best) > 0.2 ? `: did you mean ${best}?` : "";
  }

  // A format: all of its keys, from a name or written out.
  function formatOf(data, x, path) {
    if (typeof x === "string") {
      if (Object.hasOwn(data.formats, x)) return formatOf(data, { name: x, ...data.formats[x] }, path);
      if (/[/]|\.ya?ml$/.test(x)) throw new Wrong(`${path}: ${x} is a file; write its keys here, as {name: NAME, kind: float, ...}`);
      throw new Wrong(`${path}: unknown format ${x}${nearest(x, Object.keys(data.formats))}`);
    }
    if (!isMapping(x)) throw new Wrong(`${path} must be a format's name or its keys, not ${shown(x)}`);
    const kind = data.kinds[x.kind];
    if (!kind) throw new Wrong(`${path}.kind must be float, fixed or exponent, not ${shown(x.kind)}`);
    const made = { name: "", ...kind.defaults };
    for (const [key, each] of Object.entries(x)) {
      if (!kind.keys.includes(key)) throw new Wrong(`${path}.${key} is not a key here${nearest(key, kind.keys)}`);
      made[key] = each;
    }
    for (const key of kind.required) if (!Object.hasOwn(made, key) || made[key] === "") throw new Wrong(`${path}.${key} is missing`);
    for (const key of ["exponent_bits", "fraction_bits", "bias", "integer_bits"]) {
      if (Object.hasOwn(made, key) && !isInteger(made[key])) throw new Wrong(`${path}.${key} must be an integer, not ${shown(made[key])}`);
      const [low, high] = kind.bounds[key] || [null, null];
      if (Object.hasOwn(made, key) && ((low !== null && made[key] < low) || (high !== null && made[key] > high)))
        throw new Wrong(`${path}.${key} must be ${low} to ${high}, not ${made[key]}`);
    }
    if (made.nan !== undefined && made.nan !== "ieee" && !(Array.isArray(made.nan) && made.nan.every(isInteger)))
      throw new Wrong(`${path}.nan must be ieee or a list of codes, not ${shown(made.nan)}`);
    if (Array.isArray(made.nan) && made.nan.length > data.limits.nans) throw new Wrong(`${path}.nan has more codes than this page takes`);
    return made;
  }

  // The rules between keys that the program needs; `hwsim check` has all of them.
  function checkTogether(data, keys, get) {
    const k = get("instruction.k"), lanes = get("instruction.lanes");
    const divides = (path, whole, parts, what) => {
      if (whole % parts) throw new Wrong(`${path} must divide ${what} (${whole}), not ${parts}`);
    };
    divides("instruction.lanes", k, lanes, "instruction.k");
    if (lanes > data.limits.lanes) throw new Wrong(`instruction.lanes must be at most ${data.limits.lanes} on this page, not ${lanes}`);
    const order = get("instruction.order");
    if (isMapping(order)) {
      if (!isInteger(order.modulo) || order.modulo < 1 || !Array.isArray(order.groups) || !order.groups.every(Array.isArray))
        throw new Wrong("instruction.order must be sequential or {modulo: M, groups: [[...], ...]}, of integers");
      divides("instruction.order.modulo", k, order.modulo, "instruction.k");
      if ([...order.groups.flat()].sort((a, b) => a - b).join() !== [...Array(order.modulo).keys()].join())
        throw new Wrong(`instruction.order.groups must hold each of 0 to ${order.modulo - 1} once`);
      if (order.groups.some((group) => group.length * k / order.modulo !== lanes))
        throw new Wrong(`instruction.order.groups must make groups of instruction.lanes (${lanes}) products`);
    }
    const own = get("sum.subgroup.lanes"), scale = get("scale.at");
    if (own !== undefined) divides("sum.subgroup.lanes", lanes, own, "instruction.lanes");
    if (scale === "subgroup" && own === undefined) throw new Wrong("scale.at must not be subgroup: there is no sum.subgroup");
    if (scale === "promotion" && get("promotion.interval") === undefined) throw new Wrong("scale.at must not be promotion: there is none");
    for (const side of scale ? ["a", "b"] : []) {
      const along = get(`scale.${side}.length`), parts = { subgroup: own, promotion: get("promotion.interval") }[scale];
      if (along % lanes && lanes % along) throw new Wrong(`scale.${side}.block must divide or be a multiple of ${lanes} lanes along K, not ${along}`);
      if (parts && along % parts) throw new Wrong(`scale.${side}.block must be a multiple of ${parts} products along K, not ${along}`);
      if (scale === "product" && get(`scale.${side}.format`).kind !== "exponent") throw new Wrong(`scale.${side}.format must be a power of two, as e8m0`);
    }
    const interval = get("promotion.interval");
    if (interval !== undefined && interval % lanes) throw new Wrong(`promotion.interval must be a multiple of instruction.lanes (${lanes}), not ${interval}`);
    if ((get("promotion.operation") === "fma") !== (scale === "promotion") && interval !== undefined)
      throw new Wrong("promotion.operation must be fma where scale.at is promotion, else add");
    if (get("promotion.operation") === "add" && (get("promotion.first") ?? "scales") !== "scales")
      throw new Wrong("promotion.first must be scales unless promotion.operation is fma");
    if ((get("sum.addend") === "late") !== (get("late.operation") !== undefined)) throw new Wrong("late goes with sum.addend late, and that with late");
    if ((get("sum.addend") === "late") && get("instruction.start") !== "zero") throw new Wrong("instruction.start must be zero, because sum.addend is late");
    for (const path of ["operands.addend", "result.format"])
      if (get(path)?.kind === "fixed" && !get(path).signed) throw new Wrong(`${path} must have a sign; ${get(path).name} has none`);
    if (get("result.format").kind === "fixed" && get("sum.method") !== "exact") throw new Wrong("result.format must be a float format unless sum.method is exact");
    if (get("sum.method") === "even-odd" && lanes !== k) throw new Wrong(`instruction.lanes must be instruction.k (${k}), because sum.method is even-odd`);
  }

  // What a unit's keys say: every key's value, formats with all of theirs. Throws Wrong.
  function checked(data, keys) {
    if (!isMapping(keys)) throw new Wrong("a unit is a mapping of keys to values");
    if (keys.modes) throw new Wrong("a unit of several modes: paste one mode's keys, with those that all share");
    const values = new Map(), known = new Set(data.sayings);
    const present = (section) => !section || !isNone(at(keys, section)) || data.sections[section]?.required;
    for (const [section, rule] of Object.entries(data.sections)) {
      known.add(section);
      const part = at(keys, section), method = at(keys, "sum.method");
      if (isNone(part)) {
        if (rule.needed?.includes(method)) throw new Wrong(`${section} is missing: sum.method ${method} needs it`);
        continue;
      }
      if (!isMapping(part)) throw new Wrong(`${section} must be a mapping of keys to values, not ${shown(part)}`);
      if (rule.of.length && !rule.of.includes(method)) throw new Wrong(`${section} has no meaning for sum.method ${method}`);
    }
    for (const key of data.table) {
      const section = key.path.split(".").slice(0, -1).join(".");
      known.add(key.path);
      if (!present(section) || (section.startsWith("scale.") && !present("scale"))) continue;
      let given = at(keys, key.path);
      const tag = data.sections[section]?.tag, method = tag && at(keys, `${section}.${tag}`);
      if (key.of.length && !key.of.includes(method)) {
        if (!isNone(given) && given !== key.default) throw new Wrong(`${key.path} has no meaning for ${tag} ${method}`);
        continue;
      }
      if (given === undefined && key.required) throw new Wrong(`${key.path} is missing`);
      if (given === undefined) given = key.default;
      if (key.none && isNone(given)) continue;
      if (given === null) given = key.default;
      if (key.path === "scale.a" || key.path === "scale.b") {
        if (!isMapping(given)) throw new Wrong(`${key.path} must be {format, block}, not ${shown(given)}`);
        for (const name of Object.keys(given)) if (name !== "format" && name !== "block") throw new Wrong(`${key.path}.${name} is not a key here`);
        if (!Array.isArray(given.block) || given.block.length !== 2 || !given.block.every((x) => isInteger(x) && x >= 1 && x <= 1 << 20))
          throw new Wrong(`${key.path}.block must be [rows, columns], not ${shown(given.block)}`);
        values.set(`${key.path}.format`, formatOf(data, given.format, `${key.path}.format`));
        values.set(`${key.path}.length`, given.block[key.path === "scale.a" ? 1 : 0]);
        known.add(`${key.path}.format`).add(`${key.path}.block`);
        continue;
      }
      if (key.format) given = formatOf(data, given, key.path);
      else if (key.path === "instruction.order" && isMapping(given)) known.add(`${key.path}.modulo`).add(`${key.path}.groups`);
      else if (key.flag ? typeof given !== "boolean" : !(key.choices.includes(given) || (key.bounds && isInteger(given))))
        throw new Wrong(`${key.path} must be ${key.values.join(", ")}, not ${shown(given)}`);
      if (key.bounds && isInteger(given)) {
        const [low, high] = key.bounds;
        if ((low !== null && given < low) || (high !== null && given > high)) throw new Wrong(`${key.path} must be ${low} to ${high}, not ${given}`);
        if (high === null && key.path !== "result.nan" && (given > 2 ** 40 || given < -(2 ** 40))) throw new Wrong(`${key.path} is larger than this page takes: ${given}`);
      }
      values.set(key.path, given);
    }
    const walk = (part, path) => {
      for (const [name, each] of Object.entries(part)) {
        const whole = path ? `${path}.${name}` : name;
        if (!known.has(whole)) throw new Wrong(`${whole} is not a key here${nearest(whole, [...known])}`);
        if (isMapping(each) && Object.hasOwn(data.sections, whole)) walk(each, whole);
      }
    };
    walk(keys, "");
    const unit = { name: String(keys.unit ?? "unit"), summary: String(keys.summary ?? ""), keys, get: (path) => values.get(path) };
    checkTogether(data, keys, unit.get);
    unit.addend = unit.get("operands.addend");
    const late = unit.get("late.operation") === "add" ? unit.get("late.format") : undefined;
    unit.output = unit.get("promotion.format") ?? late ?? unit.get("result.format");
    unit.scaled = unit.get("scale.at") !== undefined;
    unit.fill = !isMapping(unit.get("instruction.order")) && unit.get("instruction.start") === "addend" ? unit.get("instruction.lanes") : unit.get("instruction.k");
    return unit;
  }

  // The numbers of a unit's keys, in the program's order, its formats, and the groups of an order.
  function packed(data, unit) {
    const { keys, words, format_keys, kinds } = data.numbers, formats = [], seen = new Map();
    const place = (fmt) => {
      const text = JSON.stringify(fmt, (_, x) => (typeof x === "bigint" ? `${x}` : x));
      if (!seen.has(text)) {
        seen.set(text, formats.length);
        formats.push(fmt);
      }
      return BigInt(seen.get(text));
    };
    const order = unit.get("instruction.order");
    const numberOf = (path) => {
      if (path === "instruction.order.modulo") return isMapping(order) ? BigInt(order.modulo) : NONE;
      const x = unit.get(path);
      if (x === undefined) return NONE;
      if (isMapping(x)) return place(x);
      if (path === "result.nan" && typeof x === "string") return NONE;
      return typeof x === "string" ? BigInt(words.indexOf(x)) : BigInt(x);
    };
    const numbers = keys.map(numberOf);
    const rows = formats.map((fmt) => format_keys.map((key) => {
      const x = fmt[key];
      if (key === "kind") return BigInt(kinds.indexOf(x));
      if (key === "nan") return x === "ieee" ? -1n : BigInt((x || []).length);
      if (x === undefined || x === null) return NONE;
      return typeof x === "string" ? BigInt(words.indexOf(x)) : BigInt(x);
    }));
    const groups = isMapping(order) ? Array(order.modulo).fill(0) : [];
    if (isMapping(order)) order.groups.forEach((group, index) => group.forEach((residue) => { groups[residue] = index; }));
    return { numbers, formats, rows, nans: formats.map((fmt) => (Array.isArray(fmt.nan) ? fmt.nan : [])), groups };
  }

  return { NONE, Wrong, readYaml, yamlText, checked, packed, isMapping };
})();
