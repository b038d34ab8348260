// The text of events -> rows: terms, JSON lines or CSV, told apart by the first line. The service reads the same text
// and decides; what is read here places marks on the time line and names rows. Times are seconds.

const TICK = 0.001; // between two terms without stamps
export const TYPES = { terms: "text/plain", json: "application/x-ndjson", csv: "text/csv", trig: "application/trig", nquads: "application/n-quads" };
export const QUADS = { trig: "TriG", nquads: "N-Quads" }; // which only the service reads

export function formatOf(text) {
  const line = text.split("\n").find((each) => each.trim() && !/^\s*[%#]/.test(each))?.trim() ?? "";
  if (/^(@?(prefix|base)\s|graph\s|<|_:|[\w-]*:[\w-]*\s*[{<])/i.test(line)) return /\{/.test(text.slice(0, 20_000).replace(/<[^>\s]*>|"(?:[^"\\]|\\.)*"/g, "")) ? "trig" : "nquads";
  if (/^[{[]/.test(line)) return "json";
  return /^(event\s*\(|sleep\s*\(|halt\b|\/\*)/.test(line) || (!line && text.includes("%")) ? "terms" : "csv";
}

/** Return {format, rows, bad, header, dates}: a row has line, name, values, start, end and what is sent for it. */
export function readRows(text, format = formatOf(text)) {
  const found = { format, rows: [], bad: [], header: "", dates: false };
  if (text.trim() && !QUADS[format]) ({ terms: readTerms, json: readJson, csv: readCsv })[format](text, found);
  return found;
}

/** The body of a request with some of the rows. */
export function bodyOf({ format, header }, rows) {
  return (format === "csv" ? [header, ...rows.map((row) => row.sent)] : rows.map((row) => row.sent)).join("\n") + "\n";
}

/** A time as the service reads it: a number of seconds, or a date of ISO 8601, which is UTC where it says no zone. */
export function timeOf(value, found) {
  if (typeof value === "number") return value;
  const text = String(value ?? "").trim();
  if (text !== "" && !Number.isNaN(Number(text))) return Number(text);
  const parts = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?$/.exec(text);
  if (!parts) return NaN;
  const [, day, clock = "00:00", fraction = "", zone = "Z"] = parts;
  found.dates = true;
  return Date.parse(`${day}T${clock}${zone.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2")}`) / 1000 + Number(fraction || 0);
}

const first = (record, names) => names.find((name) => record[name] !== undefined && record[name] !== null && record[name] !== "");

function place(found, line, record, sent) {
  const name = record[first(record, ["event", "type", "operator"])] ?? (record.turtle || record.jsonld ? "rdf" : undefined); // triples
  if (typeof name !== "string" || !name) return found.bad.push({ line, message: "the row names no event" });
  const at = first(record, ["at", "time", "ts"]), from = first(record, ["start"]), to = first(record, ["end"]);
  const both = from !== undefined && to !== undefined && record.at === undefined;
  const start = timeOf(both ? record[from] : record[at], found), end = both ? timeOf(record[to], found) : start;
  if (Number.isNaN(start) || Number.isNaN(end)) return found.bad.push({ line, message: "the row has no time that can be read" });
  if (start > end) return found.bad.push({ line, message: "the event ends before it starts" });
  const own = new Set(["event", "type", "rule", "sign", "number", ...(record.parameters ? ["operator", "language", "id"] : []), ...(both ? ["start", "end"] : [at])]);
  const listed = Array.isArray(record.args) ? record.args.map((value, i) => ["a" + (i + 1), value]) : null;
  const values = new Map(listed ?? Object.entries(record.attributes ?? record.parameters ?? record).filter(([key]) => !own.has(key)));
  found.rows.push({ line, name, values, start, end, sent });
}

function readJson(text, found) {
  const whole = text.trim();
  if (whole.startsWith("[") && /^\[\s*[{[]/.test(whole)) {
    try {
      const items = exactJson(whole);
      items.forEach((item) => jsonRow(item, 1, JSON.stringify(item), found));
      return;
    } catch { /* lines of lists, or broken: line by line */ }
  }
  text.split("\n").forEach((line, i) => {
    if (!line.trim()) return;
    let item;
    try { item = exactJson(line); } catch (error) { return found.bad.push({ line: i + 1, message: "not JSON: " + error.message }); }
    jsonRow(item, i + 1, line.trim(), found);
  });
}

function jsonRow(item, line, sent, found) {
  if (Array.isArray(item) && item.length > 1) {
    const [name, ...rest] = item, at = rest.pop();
    const interval = Array.isArray(at) ? { start: at[0], end: at[1] } : { at };
    return place(found, line, { event: name, args: rest, ...interval }, sent);
  }
  if (item === null || typeof item !== "object" || Array.isArray(item)) return found.bad.push({ line, message: "a row is an object or a list" });
  place(found, line, item, sent);
}

function readCsv(text, found) {
  const lines = text.split("\n");
  let at = lines.findIndex((line) => line.trim());
  found.header = lines[at].replace(/\r$/, "");
  const mark = [",", ";", "\t"].sort((a, b) => found.header.split(b).length - found.header.split(a).length)[0];
  const names = cells(found.header, mark).map((name) => name.trim());
  const clash = names.find((name, i) => names.indexOf(name) < i);
  if (clash !== undefined) found.bad.push({ line: at + 1, message: `two columns are called ${clash}` });
  while (++at < lines.length) {
    let record = lines[at].replace(/\r$/, ""), from = at;
    if (!record.trim()) continue;
    while ((record.match(/"/g)?.length ?? 0) % 2 && at + 1 < lines.length && at - from < 100) record += "\n" + lines[++at];
    const values = cells(record, mark);
    if (values.length !== names.length) {
      found.bad.push({ line: from + 1, message: `expected ${names.length} cells, found ${values.length}` });
      continue;
    }
    const row = Object.fromEntries(names.map((name, i) => [name, values[i]]));
    const kept = Object.entries(row).filter(([key, value]) => value !== "" || ["event", "at"].includes(key));
    place(found, from + 1, Object.fromEntries(kept.map(([key, value]) => [key, cellValue(key, value)])), record);
  }
}

const cellValue = (key, value) => (key !== "event" && /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(value) ? Number(value) : value);

function cells(record, mark) {
  const found = [];
  let cell = "", quoted = false;
  for (let i = 0; i < record.length; i++) {
    const c = record[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (record[i + 1] === '"') { cell += '"'; i++; } else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === mark) { found.push(cell); cell = ""; } else cell += c;
  }
  return [...found, cell];
}

// Terms: event(a(1)). event(a(1), [T1, T2]). sleep(S). halt.
function readTerms(text, found) {
  const clock = { now: 0, taken: false };
  for (const { source, line } of clauses(text)) {
    if (source.trim() === "halt") return;
    try {
      const term = parseTerm(source);
      if (term.name === "sleep") {
        const pause = number(term.args?.[0]);
        clock.now += pause;
        clock.taken &&= !pause;
      } else if (term.name === "event" && term.args?.length && term.args.length < 3) termRow(term, line, clock, found);
      else throw new Error("expected event(...), sleep(...) or halt");
    } catch (error) {
      found.bad.push({ line, message: error.message });
    }
  }
}

function termRow({ args: [event, stamp] }, line, clock, found) {
  let start, end;
  if (stamp === undefined) {
    clock.now += clock.taken ? TICK : 0;
    start = end = Math.round(clock.now * 1e6) / 1e6;
    clock.taken = true;
  } else {
    if (!stamp.list || stamp.list.length !== 2) throw new Error("expected [start, end] as the stamp");
    [start, end] = stamp.list.map((time) => moment(time, found));
    if (start > end) throw new Error("the event ends before it starts");
    clock.taken ||= end >= clock.now;
    clock.now = Math.max(clock.now, end);
  }
  if (event.variable || event.list || typeof event.value === "number") throw new Error("an event is an atom, such as a(1)");
  const values = new Map((event.args ?? []).map((arg, i) => ["a" + (i + 1), arg.value ?? arg.text]));
  found.rows.push({ line, name: event.name, values, start, end, sent: `event(${event.text}, [${start}, ${end}]).` });
}

function number(term) {
  if (typeof term?.value !== "number") throw new Error("expected a number of seconds");
  return term.value;
}

function moment(term, found) {
  if (term.name === "datetime" && term.args.length === 6) {
    found.dates = true;
    const [year, month, day, hour, minute, second] = term.args.map(number);
    return Date.UTC(year, month - 1, day, hour, minute, 0) / 1000 + second;
  }
  return typeof term.value === "string" ? timeOf(term.value, found) : number(term);
}

/** Yield the clauses of a text without comments, with the line on which each begins. */
function* clauses(text) {
  const token = /%[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S]|"")*"|(\.(?=\s|%|$))|\n|[\s\S]/g;
  let source = "", line = 1, began = 1;
  for (const [found, stop] of text.matchAll(token)) {
    if (stop && source.trim()) { yield { source, line: began }; source = ""; } else if (!/^(%|\/\*)/.test(found)) {
      if (!source.trim() && found.trim()) began = line;
      source += found;
    }
    line += found === "\n" ? 1 : found.length > 1 ? found.split("\n").length - 1 : 0;
  }
  if (source.trim()) yield { source: source + " ?", line: began };
}

function parseTerm(text) {
  const tokens = [...text.matchAll(/\s+|'((?:[^'\\]|\\[\s\S]|'')*)'|"((?:[^"\\]|\\[\s\S]|"")*)"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[\p{L}_][\p{L}\p{N}_]*|\S/giu)].filter(([all]) => all.trim());
  let at = 0;
  const peek = () => tokens[at]?.[0];
  const expect = (what) => { if (peek() !== what) throw new Error(`expected ${what}, found ${peek() ?? "the end"}`); at++; };
  const list = (close) => {
    const items = [];
    if (peek() !== close) do items.push(term()); while (peek() === "," && ++at);
    expect(close);
    return items;
  };
  function term() {
    const found = tokens[at++];
    if (!found) throw new Error("the clause ends too early");
    const [all, single, double] = found;
    if (/^-?\d/.test(all)) return { value: Number(all), text: all };
    if (all === "[") { const items = list("]"); return { list: items, text: `[${items.map((item) => item.text).join(", ")}]` }; }
    if (/^[A-Z_]/.test(all)) return { variable: true, text: all, value: null };
    if (single === undefined && double === undefined && !/^\p{L}/u.test(all)) throw new Error(`unexpected ${all}`);
    const name = single ?? double ?? all;
    if (peek() !== "(") return { name, value: name, text: all };
    at++;
    const args = list(")");
    return { name, args, text: `${all}(${args.map((arg) => arg.text).join(", ")})` };
  }
  const found = term();
  if (at < tokens.length) throw new Error(`unexpected ${peek()}`);
  return found;
}

/** JSON with whole numbers of any size: those that no number of JavaScript is exact for are kept as they are written. */
export function exactJson(text) {
  if (!JSON.rawJSON || !/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, { source }) => (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? JSON.rawJSON(source) : value));
}

const isRaw = (value) => typeof value === "object" && value !== null && Boolean(JSON.isRawJSON?.(value));

// Names of rows as the engine writes them.
export function valueText(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return String(value);
  if (isRaw(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  if (typeof value === "object") return typeof value.name === "string" && Array.isArray(value.args) ? `${value.name}(${value.args.map(valueText).join(", ")})` : JSON.stringify(value);
  return String(value);
}

/** The values of a row in the order of its kind, if the program declares one; else as they came. */
export function argsOf(row, kinds) {
  const kind = kinds.find((each) => each.name === row.name && each.role !== "derived") ?? kinds.find((each) => each.name === row.name);
  const names = kind?.attributes?.filter((name) => name !== null) ?? [];
  if (kind && names.length === kind.arity && names.some((name) => row.values.has(name))) return names.map((name) => [name, row.values.get(name) ?? null]);
  return [...row.values];
}

export function atomText(name, values) {
  return values.length ? `${name}(${values.map(valueText).join(", ")})` : name;
}
