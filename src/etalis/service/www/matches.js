// The table of matches: only the rows in sight are elements. It is the equal of the canvas for those who read or use keys.
import { $, clear, copy, download, el, icon, note, plural, svg } from "./dom.js";
import { swatch } from "./lanes.js";
import { valueText } from "./rows.js";
import { cellTexts } from "./times.js";

const ROW = 30, SPARKS = 24;

export class Matches {
  constructor(host, { onChoose, onWhy, dates, marks }) {
    this.onChoose = onChoose;
    this.onWhy = onWhy;
    this.dates = dates;
    this.marks = marks;
    this.rows = []; // records, as they came
    this.lost = []; // of the program before
    this.shown = [];
    this.chosen = null;
    this.filter = { text: "", kind: null };
    this.text = el("input", { type: "search", placeholder: "filter", "aria-label": "Filter matches by text", oninput: () => { this.filter.text = this.text.value.trim().toLowerCase(); this.update(); } });
    this.sparks = el("div", { class: "sparks", role: "group", "aria-label": "Filter by kind" });
    this.summary = el("p", { class: "summary", hidden: true });
    this.body = el("div", { class: "rows", role: "rowgroup" });
    this.tall = el("div", { class: "tall" });
    this.view = el("div", { class: "table", role: "grid", tabindex: "0", "aria-label": "Matches", onscroll: () => this.paint(), onkeydown: (event) => this.key(event) },
      el("div", { class: "row head", role: "row" }, ["#", "time", "event", "attributes", "rule"].map((name) => el("span", { role: "columnheader" }, name))), this.tall, this.body);
    this.empty = el("div", { class: "nothing" });
    host.append(this.bar = el("div", { class: "toolbar" }, this.sparks, this.text,
      this.button("copy", "Copy as JSON lines", () => this.copyRows()), this.button("down", "Download as JSON lines", () => this.save("jsonl")),
      el("button", { type: "button", title: "Download as CSV", "aria-label": "Download as CSV", onclick: () => this.save("csv") }, "CSV")), this.summary, this.view, this.empty);
    new ResizeObserver(() => this.paint()).observe(this.view);
    this.update();
  }

  button(name, label, onclick) {
    return el("button", { type: "button", class: "plain", title: label, "aria-label": label, onclick }, icon(name));
  }

  clear() {
    this.rows = [];
    this.lost = [];
    this.filter.kind = null;
    this.summary.hidden = true;
    this.update();
  }

  add(records) {
    this.rows.push(...records);
    this.later();
  }

  /** Bring the table up to date, once per frame. */
  later() {
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.update(); });
  }

  update() {
    const { text, kind } = this.filter;
    const all = this.lost.length ? [...this.rows, ...this.lost] : this.rows;
    this.shown = text || kind ? all.filter((row) => (!kind || row.kind === kind) && (!text || `${row.text} ${row.rule ?? ""}`.toLowerCase().includes(text))) : all;
    this.tall.style.height = `${this.shown.length * ROW}px`;
    this.view.setAttribute("aria-rowcount", this.shown.length + 1);
    this.view.hidden = !all.length;
    this.empty.hidden = all.length > 0;
    this.bar.hidden = !all.length;
    $("count-matches").textContent = this.rows.length ? this.rows.length.toLocaleString("en") : "";
    this.paintSparks();
    this.paint();
  }

  /** For each kind a button with its number and when it occurred. */
  paintSparks() {
    const kinds = new Map();
    for (const row of this.rows) (kinds.get(row.kind) ?? kinds.set(row.kind, []).get(row.kind)).push(row);
    const key = [...kinds].map(([kind, rows]) => `${kind}:${rows.length}`).join() + this.filter.kind;
    if (key === this.drawn) return;
    this.drawn = key;
    const low = this.marks.low, span = this.marks.high - low || 1;
    clear(this.sparks, [...kinds].slice(0, 12).map(([kind, rows]) => {
      const bins = new Array(SPARKS).fill(0);
      for (const row of rows) bins[Math.max(Math.min(Math.floor(((row.end - low) / span) * SPARKS), SPARKS - 1), 0)]++;
      const most = Math.max(...bins), colour = this.marks.colourOf(kind);
      return el("button", { type: "button", class: "spark", "aria-pressed": String(this.filter.kind === kind), onclick: () => { this.filter.kind = this.filter.kind === kind ? null : kind; this.update(); } },
        svg("svg", { viewBox: `0 0 ${SPARKS * 2} 14`, class: `kind${colour}`, "aria-hidden": "true" }, bins.map((n, i) => n > 0 && svg("rect", { x: i * 2, width: 1.5, y: 14 - 2 - (12 * n) / most, height: 2 + (12 * n) / most }))),
        el("span", {}, kind.replace(/\/\d+$/, "")), el("b", {}, rows.length.toLocaleString("en")));
    }));
  }

  paint() {
    if (this.view.hidden) return;
    const top = this.view.scrollTop, first = Math.max(Math.floor(top / ROW) - 4, 0);
    const last = Math.min(first + Math.ceil(this.view.clientHeight / ROW) + 8, this.shown.length);
    clear(this.body, Array.from({ length: Math.max(last - first, 0) }, (_, i) => this.row(this.shown[first + i], first + i)));
  }

  row(record, place) {
    const isChosen = record.id !== null && record.id === this.chosen;
    const names = ["row", isChosen && "chosen", record.retracted && "retracted", record.gained && "gained", record.lost && "lost"].filter(Boolean).join(" ");
    const told = record.lost ? "lost" : record.gained ? "gained" : record.retracted ? "taken back" : null;
    const [from, to] = cellTexts(record.start, record.end, this.dates(), Math.floor(this.marks.low / 86400) !== Math.floor(this.marks.high / 86400));
    const row = el("div", { class: names, role: "row", id: `row-${place}`, "aria-rowindex": place + 2, "aria-selected": String(isChosen), onclick: () => !record.lost && this.onChoose(record.id), ondblclick: () => this.onWhy() },
      el("span", { role: "gridcell", class: "number" }, record.lost ? "–" : String(record.number)),
      el("span", { role: "gridcell", class: "time" }, el("span", { class: "from" }, from), to),
      el("span", { role: "gridcell", class: "event" }, swatch(this.marks.colourOf(record.kind), true), el("span", {}, record.name), told && el("em", {}, told)),
      el("span", { role: "gridcell", class: "attributes" }, record.values.map(([name, value]) => [el("i", {}, name), " ", valueText(value), "  "])),
      el("span", { role: "gridcell", class: "rule" }, record.rule ?? ""));
    row.style.top = `${place * ROW}px`;
    return row;
  }

  choose(id, reveal = true) {
    this.chosen = id;
    const place = id === null ? -1 : this.shown.findIndex((row) => row.id === id);
    if (place >= 0) {
      this.view.setAttribute("aria-activedescendant", `row-${place}`);
      const top = place * ROW, { scrollTop, clientHeight } = this.view;
      if (reveal && (top < scrollTop || top > scrollTop + clientHeight - 2 * ROW)) this.view.scrollTop = Math.max(top - clientHeight / 2, 0);
    } else this.view.removeAttribute("aria-activedescendant");
    this.paint();
  }

  key(event) {
    const now = this.shown.findIndex((row) => row.id === this.chosen && row.id !== null), page = Math.max(Math.floor(this.view.clientHeight / ROW) - 2, 1);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: this.shown.length - 1 }[event.key];
    if (event.key === "Enter" && now >= 0) { event.preventDefault(); return this.onWhy(); }
    if (to === undefined || !this.shown.length) return;
    event.preventDefault();
    const record = this.shown[Math.min(Math.max(to, 0), this.shown.length - 1)];
    if (!record.lost) this.onChoose(record.id);
  }

  /** Compare with the matches of the run before: mark what is gained, list what is lost. */
  compare(before) {
    const key = (row) => `${row.text} ${row.start} ${row.end}`, counts = new Map();
    for (const row of before) counts.set(key(row), (counts.get(key(row)) ?? 0) + 1);
    let gained = 0;
    for (const row of this.rows) {
      const left = counts.get(key(row)) ?? 0;
      row.gained = left === 0;
      gained += left === 0;
      if (left) counts.set(key(row), left - 1);
    }
    this.lost = before.filter((row) => {
      const left = counts.get(key(row)) ?? 0;
      if (left) counts.set(key(row), left - 1);
      return left > 0;
    }).map((row) => ({ ...row, id: null, lost: true }));
    this.summary.hidden = !gained && !this.lost.length;
    this.summary.textContent = `Compared with the run before: ${plural(gained, "match", "matches")} gained, ${this.lost.length.toLocaleString("en")} lost.`;
    this.update();
  }

  lines() { return this.shown.map((row) => JSON.stringify(row.flat)).join("\n") + "\n"; }

  async copyRows() {
    note((await copy(this.lines())) ? `${plural(this.shown.length, "match", "matches")} copied` : "This browser does not let the page copy; use download");
  }

  save(form) {
    if (form === "jsonl") return download("matches.jsonl", this.lines(), "application/x-ndjson");
    const names = [...new Set(this.shown.flatMap((row) => Object.keys(row.flat)))];
    const cell = (value) => { const text = value === null || value === undefined ? "" : valueText(value); return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
    download("matches.csv", [names.join(","), ...this.shown.map((row) => names.map((name) => cell(row.flat[name])).join(","))].join("\n") + "\n", "text/csv");
  }
}
