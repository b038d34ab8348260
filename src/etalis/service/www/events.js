// The pane of events: their text, a form made from the kinds that the program declares, files that are dropped. Long
// texts are kept beside the editor, which then shows how they begin.
import { $, clear, debounce, download, el, plural } from "./dom.js";
import { Editor } from "./editor.js";
import { QUADS, TYPES, argsOf, atomText, formatOf, readRows } from "./rows.js";

const LONG = 400_000, SHOWN = 200; // characters that are edited; lines that are shown of a longer text

export class Events {
  constructor(host, { onChange, onRun, onSend, kinds }) {
    this.kinds = kinds;
    this.onChange = () => {}; // not before the page is put together
    this.onSend = onSend;
    this.whole = null; // a text too long to be edited
    this.name = null;
    this.table = null; // what only the service reads: a Parquet file, quads
    this.refused = [];
    this.told = el("div", { class: "told", hidden: true });
    this.adding = el("form", { class: "adding", onsubmit: (event) => { event.preventDefault(); this.add(); } });
    this.picker = el("input", { type: "file", class: "away", tabindex: "-1", "aria-label": "File of events", accept: ".csv,.jsonl,.ndjson,.json,.events,.txt,.parquet,.trig,.nq", onchange: () => { if (this.picker.files[0]) this.onFile?.(this.picker.files[0]); this.picker.value = ""; } });
    const place = el("div", { class: "fill" });
    this.host = host;
    host.append(el("div", { class: "toolbar" }, this.format = el("span", { class: "quiet" }), el("span", { class: "grow" }),
      el("button", { type: "button", onclick: () => this.picker.click() }, "Open a file"), this.picker,
      el("button", { type: "button", onclick: () => download(this.name ?? "events.txt", this.text, "text/plain") }, "Save")), this.told, place, this.adding);
    this.editor = new Editor(place, { label: "Events", language: "json", placeholder: this.example = '{"event": "withdrawal", "at": 0, "card": "c1", "amount": 20}\n\nJSON lines, CSV, or terms: event(a(1)).\nOr drop a file here.', onRun, onChange: () => this.changed() });
    this.read = readRows("");
    this.editor.area.addEventListener("input", debounce(60, () => this.colour()));
    this.fill("");
    this.onChange = onChange;
  }

  get text() { return this.whole ?? this.editor.value; }

  /** Replace all events. */
  fill(text, name = null) {
    this.table = null;
    this.name = name;
    this.refused = [];
    const isLong = text.length > LONG;
    this.whole = isLong ? text : null;
    const lines = isLong ? text.slice(0, 100_000).split("\n").slice(0, SHOWN) : null;
    this.editor.value = isLong ? lines.join("\n") : text;
    this.editor.readOnly = isLong;
    this.changed();
    if (isLong) this.tell(`${name ?? "The text"} is long: its first ${SHOWN} lines are shown, all ${this.table ? "of it is" : `${plural(this.read.rows.length, "event")} are`} used.`);
  }

  /** A Parquet file, which only the service can read. */
  fillTable(bytes, name) {
    this.fill("");
    this.table = { bytes, name, type: "application/vnd.apache.parquet" };
    this.name = name;
    this.tell(`${name}: Parquet, ${(bytes.byteLength / 1024).toFixed(0)} kB. The service reads it when you run.`);
    this.onChange();
  }

  tell(text) {
    this.told.hidden = !text;
    clear(this.told, text, text && el("button", { type: "button", onclick: () => this.fill("") }, "Remove"));
  }

  colour() {
    const format = formatOf(this.editor.value);
    this.editor.language = QUADS[format] ? "ep-sparql" : format;
    this.editor.paint();
  }

  changed() {
    this.refused = [];
    this.read = readRows(this.text);
    const quads = QUADS[this.read.format];
    if (quads) this.table = { bytes: this.text, name: this.name ?? quads, type: TYPES[this.read.format] };
    else if (typeof this.table?.bytes === "string") this.table = null;
    if (!this.whole && !this.table) this.tell("");
    this.showForm();
    this.editor.language = quads ? "ep-sparql" : this.read.format;
    this.editor.paint();
    this.mark();
    $("count-events").textContent = this.read.rows.length ? this.read.rows.length.toLocaleString("en") : "";
    this.format.textContent = this.text.trim() ? { json: "JSON lines", csv: "CSV", terms: "terms", ...QUADS }[this.read.format] : "";
    this.onChange();
  }

  /** Mark rows that were refused, here or by the service, with the reason. */
  mark() {
    const bad = [...this.read.bad, ...this.refused].slice(0, 200);
    this.editor.show(bad.map(({ line, message }) => ({ line, column: 1, end_line: line + 1, end_column: 1, severity: "error", code: "row", message })));
  }

  refuse(rows) {
    this.refused.push(...rows);
    this.mark();
  }

  /** Rows are added to texts that are edited here. */
  showForm() { this.adding.hidden = (!this.sending && (this.whole !== null || this.table !== null)) || !this.kinds().some((kind) => kind.role !== "derived"); }

  /** The form: one of the declared kinds with its attributes. */
  paintForm() {
    const kinds = this.kinds().filter((kind) => kind.role !== "derived");
    const key = JSON.stringify(kinds);
    if (key === this.formKey) return;
    this.formKey = key;
    this.showForm();
    if (!kinds.length) return clear(this.adding);
    const select = el("select", { "aria-label": "Kind of event", onchange: () => fields() }, kinds.map((kind, i) => el("option", { value: i }, `${kind.name}/${kind.arity}`)));
    const inputs = el("span", { class: "inputs" });
    const fields = () => {
      this.kind = kinds[Number(select.value)];
      clear(inputs, Array.from({ length: this.kind.arity }, (_, i) => {
        const name = this.kind.attributes?.[i] ?? `a${i + 1}`, type = this.kind.types?.[i];
        return el("label", {}, name, el("input", { name: "v" + i, "aria-label": name, placeholder: type && type !== "any" ? type : "value", size: "8", autocomplete: "off", spellcheck: "false" }));
      }), el("label", {}, "at", el("input", { name: "at", "aria-label": "at", size: "8", placeholder: "time", autocomplete: "off" })));
    };
    clear(this.adding, select, inputs, el("button", { type: "submit" }, this.sending ? "Send" : "Add"));
    fields();
  }

  add() {
    const { kind, adding } = this, given = Array.from({ length: kind.arity }, (_, i) => this.valueOf(adding.elements["v" + i].value, kind.types?.[i]));
    const last = this.read.rows.at(-1)?.end ?? 0, typed = adding.elements.at.value.trim();
    const at = typed === "" ? last + 1 : Number.isNaN(Number(typed)) ? typed : Number(typed);
    const names = Array.from({ length: kind.arity }, (_, i) => kind.attributes?.[i] ?? `a${i + 1}`);
    if (this.sending) return this.onSend({ event: kind.name, ...(typed === "" ? {} : { at }), ...Object.fromEntries(names.map((name, i) => [name, given[i]])) });
    const when = typeof at === "number" ? this.written(at) : at;
    this.editor.readOnly = false;
    this.put([{ line: this.rowText(kind.name, names, given, when, when), after: Infinity }]);
  }

  valueOf(text, type) {
    if (text === "") return null;
    return ["int", "float", "number", "any", undefined, null].includes(type) && !Number.isNaN(Number(text)) ? Number(text) : text;
  }

  written(time) { return this.read.dates ? new Date(Math.round(time * 1000)).toISOString().replace(".000Z", "Z") : Math.round(time * 1e6) / 1e6; }

  /** A row in the format of the others. */
  rowText(name, names, values, start, end) {
    const moment = start === end;
    if (this.text.trim() && this.read.format === "terms") return `event(${atomText(name, values.map((value) => (typeof value === "string" && !/^[a-z]\w*$/.test(value) ? `'${value}'` : value)))}, [${start}, ${end}]).`;
    if (this.text.trim() && this.read.format === "csv") {
      const row = { event: name, type: name, at: end, time: end, ts: end, start, end, ...Object.fromEntries(names.map((each, i) => [each, values[i] ?? ""])) };
      const mark = [",", ";", "\t"].find((each) => this.read.header.includes(each)) ?? ",";
      return this.read.header.split(mark).map((column) => row[column.trim()] ?? "").join(mark);
    }
    return JSON.stringify({ event: name, ...(moment ? { at: end } : { start, end }), ...Object.fromEntries(names.map((each, i) => [each, values[i]])) });
  }

  /** Put lines behind others (0: in front of all). */
  put(lines, removed = new Set()) {
    const all = this.text.replace(/\n+$/, "").split("\n"), found = [];
    all.forEach((line, i) => {
      if (!removed.has(i + 1) && (line || all.length > 1)) found.push(line);
      found.push(...lines.filter((each) => each.after === i + 1).map((each) => each.line));
    });
    found.push(...lines.filter((each) => each.after > all.length).map((each) => each.line));
    this.editor.area.value = found.join("\n") + "\n";
    this.changed();
    return found;
  }

  /** Make the changes of a repair in the text; the caller does not run it. Returns what could not be done. */
  apply(changes, rowOf) {
    if (this.whole || this.table) return "The events are too many to be edited here.";
    const lines = [], removed = new Set();
    const behind = (time) => this.read.rows.filter((row) => row.end <= time).at(-1)?.line ?? (this.read.format === "csv" ? 1 : 0);
    for (const change of changes) {
      const row = change.node ? rowOf(change.node) : null;
      if (change.node && !row) return "The event is not among those of this page.";
      if (change.kind !== "add") removed.add(row.line);
      if (change.kind === "remove") continue;
      const atom = change.kind === "add" ? readRows(`event(${change.atom}, [0, 0]).`, "terms").rows[0] : row;
      if (!atom) return `${change.atom} cannot be written as a row.`;
      const kind = this.kinds().find((each) => each.name === atom.name && each.role !== "derived");
      const values = change.kind === "add" ? [...atom.values.values()] : argsOf(row, this.kinds()).map(([, value]) => value);
      const names = change.kind === "add" ? values.map((_, i) => kind?.attributes?.[i] ?? `a${i + 1}`) : argsOf(row, this.kinds()).map(([name]) => name);
      lines.push({ line: this.rowText(atom.name, names, values, this.written(change.start), this.written(change.end)), after: behind(change.end) || 0 });
    }
    const first = lines.filter((each) => each.after === 0).map((each) => each.line);
    const written = this.put(lines.filter((each) => each.after > 0), removed);
    if (first.length) { this.editor.area.value = [...first, ...written].join("\n") + "\n"; this.changed(); }
    return null;
  }

  light(line) { if (!this.whole) this.editor.light(line); }
  label(row) { return atomText(row.name, argsOf(row, this.kinds()).map(([, value]) => value)); }
}
