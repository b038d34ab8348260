// One run of a program over events: an engine of the service for it, batches of rows, matches as they come. A step sends
// one row. Watching follows an engine that lives on. What comes back becomes marks and records; others show them.
import { Refused, call, stream } from "./api.js";
import { argsOf, atomText, bodyOf, TYPES } from "./rows.js";

const FIRST = 50; // so that the first matches are there soon
const batch = (all) => Math.min(Math.max(Math.ceil(all / 40), 500), 2500);
const OWN = new Set(["event", "start", "end", "rule", "sign"]);

export class Run {
  constructor(marks, on) {
    this.marks = marks;
    this.on = on; // {records, refused, progress, state, trouble}
    this.reset();
  }

  /** Forget everything; the engine is deleted. */
  reset() {
    this.abort?.abort();
    if (this.engine && this.scratch) call("DELETE", this.path).catch(() => {});
    this.engine = null;
    this.scratch = false;
    this.sent = 0;
    this.taken = 0;
    this.late = 0;
    this.closed = false;
    this.running = false;
    this.inputs = []; // marks by the number of the input
    this.byText = new Map();
    this.numbers = new Map();
    this.plainKinds = [];
  }

  get path() { return `/engines/${encodeURIComponent(this.engine)}`; }

  async start(setting) {
    this.reset();
    this.setting = setting;
    this.abort = new AbortController();
    const made = await call("POST", "/engines", { program: setting.program, language: setting.language, scratch: true, ...(setting.policy ? { policy: setting.policy } : {}), ...(setting.background ? { background: setting.background } : {}) });
    this.engine = made.name;
    this.scratch = true;
    this.plainKinds = made.kinds ?? [];
    this.marks.clear();
    this.on.started(made);
  }

  /** Send everything that is left, then end the stream if that is wanted. */
  async run(read, { close, table }) {
    this.running = true;
    this.on.state();
    const { signal } = this.abort;
    try {
      if (table) await this.sendTable(table);
      while (this.sent < read.rows.length && !signal.aborted) {
        await this.send(read, read.rows.slice(this.sent, this.sent + (this.sent ? batch(read.rows.length) : FIRST)));
        this.on.progress(this.sent, read.rows.length);
      }
      if (close && !signal.aborted) await this.close();
    } finally {
      this.running = false;
      this.on.state();
    }
  }

  stop() { this.abort?.abort(); }

  async close() {
    if (this.closed) return [];
    this.closed = true;
    return this.take(await call("POST", this.path + "/close", {}));
  }

  /** Send rows; their marks are there before the answer is. */
  async send(read, rows) {
    const ids = rows.map((row) => this.received(row));
    this.sent += rows.length;
    this.on.records([]);
    const answer = await call("POST", this.path + "/events", bodyOf(read, rows), { type: TYPES[read.format] });
    const refused = new Set(answer.rejected?.map((each) => each.index));
    ids.forEach((id, i) => { if (!refused.has(i)) this.inputs.push(id); });
    if (answer.rejected?.length) this.on.refused(answer.rejected.map(({ index, message }) => ({ line: rows[index]?.line ?? 1, message })));
    this.taken += answer.taken ?? 0;
    this.late += answer.late ?? 0;
    return this.take(answer);
  }

  /** Send what only the service reads: a Parquet file, quads; what it took is asked for by its kinds. */
  async sendTable({ bytes, type }) {
    const kinds = this.plainKinds.filter((kind) => kind.role === "input").map((kind) => `${kind.name}/${kind.arity}`).join();
    const listed = (after) => call("GET", `${this.path}/matches?after=${after}&kinds=${encodeURIComponent(kinds)}`);
    let { next } = await listed(0); // from now on inputs are listed, too
    const answer = await call("POST", this.path + "/events", bytes, { type });
    for (let found = await listed(next); found.matches.length; found = await listed(next)) {
      for (const { match } of found.matches) this.inputs.push(this.flatInput(match));
      next = found.next;
    }
    this.taken += answer.taken ?? 0;
    this.late += answer.late ?? 0;
    if (answer.rejected?.length) this.on.trouble(`${answer.rejected.length} rows were refused; the first: row ${answer.rejected[0].index + 1}, ${answer.rejected[0].message}`);
    this.take(answer);
  }

  received(row) {
    const values = argsOf(row, this.plainKinds), kind = `${row.name}/${values.length}`;
    return this.input({ name: row.name, kind, values, text: atomText(row.name, values.map(([, value]) => value)), start: row.start, end: row.end, line: row.line });
  }

  flatInput(flat) {
    const values = Object.entries(flat).filter(([name]) => !OWN.has(name));
    return this.input({ name: flat.event, kind: `${flat.event}/${values.length}`, values, text: atomText(flat.event, values.map(([, value]) => value)), start: flat.start, end: flat.end, line: null });
  }

  input(seen) {
    const record = { ...seen, short: shortText(seen.values), derived: false, rule: null, number: null, input: this.inputs.length + 1 };
    record.id = this.marks.add(this.marks.lane(record.kind, false), record.start, record.end, record);
    this.byText.set(keyOf(record.text, record.start, record.end, false), record.id);
    return record.id;
  }

  /** Turn matches of an answer into marks and records. */
  take(answer) {
    const records = [];
    for (const match of answer.matches ?? []) {
      if (match.sign === -1) this.retract(match);
      else records.push(this.match(match));
    }
    this.on.records(records);
    return records;
  }

  match({ number, by, match }) {
    const values = Object.entries(match).filter(([name]) => !OWN.has(name)), { event: name, start, end, rule } = match;
    const record = { name, kind: `${name}/${values.length}`, values, text: atomText(name, values.map(([, value]) => value)), short: shortText(values), start, end, rule: rule ?? null, derived: true, number, by, input: null, line: null, flat: match };
    record.id = this.marks.add(this.marks.lane(record.kind, true), start, end, record);
    this.byText.set(keyOf(record.text, start, end, true), record.id);
    this.numbers.set(number, record.id);
    return record;
  }

  retract({ match }) {
    const values = Object.entries(match).filter(([name]) => !OWN.has(name));
    const id = this.byText.get(keyOf(atomText(match.event, values.map(([, value]) => value)), match.start, match.end, true));
    const record = id === undefined ? null : this.marks.record(id);
    if (record) { record.retracted = true; this.marks.version++; }
  }

  /** The mark of an event in an explanation, or null. */
  find(node) {
    const byNumber = node.input !== undefined ? this.inputs[node.input - 1] : undefined;
    if (byNumber !== undefined && (node.end === undefined || this.marks.end(byNumber) === Number(node.end))) return byNumber;
    if (node.atom === undefined) return null;
    return this.byText.get(keyOf(node.atom, Number(node.start), Number(node.end), node.kind !== "received")) ?? null;
  }

  /** Show records that were found elsewhere. */
  show(records) {
    for (const record of records) record.id = this.marks.add(this.marks.lane(record.kind, true), record.start, record.end, record);
    this.on.records(records);
  }

  ask(what, question) {
    if (!this.engine) throw new Error("Run the program first.");
    return call("POST", `${this.path}/${what}`, question);
  }

  plan() { return call("GET", `${this.path}/explain?form=json`); }
  state() { return call("GET", `${this.path}/state`); }
  partial() { return call("GET", `${this.path}/partial`); }

  /** Follow an engine of the service until the signal says stop. */
  async watch(name) {
    this.reset();
    this.marks.reset();
    this.engine = name;
    this.abort = new AbortController();
    const { signal } = this.abort, told = await call("GET", this.path);
    this.plainKinds = told.kinds ?? [];
    this.on.started(told);
    const derived = new Set(this.plainKinds.filter((kind) => kind.role === "derived").map((kind) => `${kind.name}/${kind.arity}`));
    const kinds = this.plainKinds.map((kind) => `${kind.name}/${kind.arity}`).join();
    this.running = true;
    this.on.state();
    let after = Math.max((told.matches ?? 0) - 1000, 0), pause = 1;
    while (!signal.aborted) {
      try {
        for await (const { event, data } of stream(`${this.path}/matches?after=${after}${kinds ? "&kinds=" + encodeURIComponent(kinds) : ""}`, signal)) {
          pause = 1;
          if (event === "end") { this.running = false; this.on.state(); return; }
          if (event === "gap") { after = (data.first ?? 1) - 1; this.on.trouble(`What came before match ${data.first} is no longer kept.`); continue; }
          if (event !== "match") continue;
          after = data.number ?? after;
          const kind = `${data.match.event}/${Object.keys(data.match).filter((key) => !OWN.has(key)).length}`;
          if (kinds && !derived.has(kind)) { this.inputs.push(this.flatInput(data.match)); this.on.records([]); } else this.take({ matches: [data] });
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused && error.status === 410) after = (error.body.first ?? 1) - 1;
        else if (error instanceof Refused) { this.running = false; this.on.state(); throw error; }
      }
      await new Promise((done) => { setTimeout(done, pause * 1000); });
      pause = Math.min(pause * 2, 30);
    }
  }
}

/** Values beside a mark: those that are short. */
const shortText = (values) => values.map(([, value]) => value).filter((value) => value !== null && typeof value !== "object" && !/[([]/.test(value)).map((value) => String(value).replace(/^<\S*?([^/#<>]+)[/#]?>$/, "$1")).join(", "); // of IRIs their last part

/** Texts of one event may differ in quotes and in how numbers are written. */
function keyOf(text, start, end, derived) {
  return `${derived ? "d" : "r"}${text.replace(/['"\s]/g, "").replace(/(\d)\.0+(?!\d)/g, "$1")}@${start}-${end}`;
}
