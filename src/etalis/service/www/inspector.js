// What is chosen, why it occurred, and why something did not: the tab beside the table of matches.
import { clear, el, icon, say } from "./dom.js";
import { Explanation } from "./explain.js";
import { swatch } from "./lanes.js";
import { valueText } from "./rows.js";
import { spanText, timeText } from "./times.js";

const DEEP = 60; // nodes of a tree that are shown opened

export class Inspector {
  constructor(host, { marks, dates, find, choose, goToRule, ask, apply, showGhost, showParts, derived }) {
    Object.assign(this, { host, marks, dates, find, choose, goToRule, ask, apply, showGhost, showParts, derived });
    this.known = new Map(); // explanations by record
    this.turn = 0;
    this.idle();
  }

  idle() {
    this.turn++;
    clear(this.host, el("div", { class: "nothing" },
      el("p", {}, "Click a match, or an event on the time line, to see what it is made of."),
      el("p", {}, "To ask why something did not occur, click on an empty place of a derived lane, or ask here."),
      this.form("", null, null)));
  }

  clear() {
    this.known.clear();
    this.idle();
  }

  head(record) {
    const rule = record.rule && el("button", { type: "button", class: "link", onclick: () => this.goToRule(record.rule) }, `rule ${record.rule}`);
    const line = record.line && el("button", { type: "button", class: "link", onclick: () => this.goToRule(null, record.line) }, `line ${record.line}`);
    return el("header", { class: "what" },
      el("h3", {}, swatch(this.marks.laneFor(record.id).colour, record.derived), el("code", {}, record.text)),
      el("p", {}, spanText(record.start, record.end, this.dates()), rule && [" · ", rule],
        record.number !== null && ` · ${record.events ? "result" : "match"} ${record.number}`, record.input !== null && ` · input ${record.input}`, line && [" · ", line], record.retracted && " · taken back"));
  }

  /** Show a record; a derived one with its explanation, as soon as the service has told it. */
  async show(record) {
    const turn = ++this.turn;
    clear(this.host, this.head(record), record.values.length > 0 && el("dl", { class: "values" }, record.values.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, valueText(value))))));
    if (!record.derived) return;
    if (record.events) return this.host.append(el("h4", {}, "Made of"), el("div", { class: "tree" }, el("ul", {}, this.contributed(record.events, [...record.parts]))));
    const place = el("div", { class: "tree", "aria-busy": "true" }, el("p", { class: "quiet" }, "…"));
    this.host.append(place);
    let found;
    try {
      found = await this.explanation(record);
    } catch (error) {
      if (turn === this.turn) clear(place, this.problem(error));
      return;
    }
    if (turn !== this.turn) return;
    place.removeAttribute("aria-busy");
    this.showParts(record, found.inputs().map((node) => this.find(node)).filter((id) => id !== null));
    const { root } = found;
    if (!root) return clear(place, el("p", { class: "quiet" }, "Nothing is kept that would explain it."));
    this.left = DEEP;
    clear(place, root.text && el("pre", { class: "ruletext" }, root.text), el("h4", {}, "Made of"), this.branch(found, found.premises(root), new Set([root.n])),
      !found.complete && el("p", { class: "quiet" }, "What is older than the engine keeps is told by its number alone."));
  }

  /** The events of a result, nested as its expression. */
  contributed(node, parts) {
    if (node.arguments) return el("li", {}, el("code", {}, node.operator), el("ul", {}, node.arguments.map((each) => this.contributed(each, parts))));
    const id = parts.shift(), record = id === undefined ? null : this.marks.record(id);
    return el("li", {}, record ? el("button", { type: "button", class: "atom", onclick: () => this.choose(id) }, swatch(this.marks.laneFor(id).colour, false), el("code", {}, record.text)) : el("code", {}, node.operator), el("small", {}, `${node.at ?? node.start} · signal ${node.signal ?? ""}`));
  }

  async explanation(record) {
    let found = this.known.get(record.id);
    if (!found) {
      const answer = await this.ask("why", { number: record.number });
      found = new Explanation(answer.tree ?? answer, this.dates());
      this.known.set(record.id, found);
    }
    return found;
  }

  branch(found, parts, above) {
    return el("ul", {}, parts.map((part) => (part.node ? this.eventItem(found, part.node, above) : this.testItem(found, part, above))));
  }

  testItem(found, { text, proof }, above) {
    return el("li", { class: "test" }, icon("check"), el("span", {}, text), proof?.length > 0 && this.branch(found, proof, above));
  }

  eventItem(found, node, above) {
    const derived = node.kind === "derived", id = this.find(node), told = above.has(node.n);
    const lane = id !== null ? this.marks.laneFor(id) : null;
    const name = el(id !== null ? "button" : "span", { class: "atom", ...(id !== null ? { type: "button", onclick: () => this.choose(id) } : {}) }, lane ? swatch(lane.colour, lane.derived) : null, el("code", {}, node.atom ?? `input ${node.input}`));
    const note = [spanText(Number(node.start), Number(node.end), this.dates()), node.input !== undefined && `input ${node.input}`, derived && `rule ${node.rule}`, told && "as above"].filter(Boolean).join(" · ");
    const below = derived && !told ? found.premises(node) : [];
    if (!below.length) return el("li", {}, name, el("small", {}, note));
    const open = --this.left > 0;
    const inside = () => this.branch(found, below, new Set([...above, node.n]));
    const more = el("details", { ...(open ? { open: "" } : {}) }, el("summary", {}, "made of"), open ? inside() : null);
    if (!open) more.addEventListener("toggle", () => more.append(inside()), { once: true });
    return el("li", {}, name, el("small", {}, note), more);
  }

  problem(error) {
    if (error.code === "E340") return el("p", { class: "quiet" }, "This engine keeps nothing that would explain it. Its program may say ", el("code", {}, ":- set_flag(etalis_justification, on)."), " when it is made; a copy to Try keeps all.");
    return el("p", { class: "wrong" }, icon("error"), error.message, error.hint && el("span", { class: "hint" }, error.hint));
  }

  /** The form of a why-not: a kind or pattern, from when to when. */
  form(kind, from, to) {
    const kinds = this.derived();
    const what = el("input", { name: "kind", value: kind || (kinds[0] ?? ""), list: "derived-kinds", required: true, "aria-label": "What did not occur", placeholder: "fraud/2 or fraud(c1, _)", spellcheck: "false", autocomplete: "off" });
    const number = (name, value, label) => el("input", { name, type: "text", inputmode: "decimal", "aria-label": label, placeholder: label, size: 10, value: value === null ? "" : this.bound(value) });
    const [first, last] = [number("from", from, "from"), number("to", to, "to")];
    return el("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); this.whyNot(what.value.trim(), this.read(first.value), this.read(last.value)); } },
      el("label", {}, "Why not ", what), el("datalist", { id: "derived-kinds" }, kinds.map((each) => el("option", { value: each }))),
      el("label", {}, "from ", first), el("label", {}, "to ", last), el("button", { type: "submit", class: "main" }, "Ask"));
  }

  bound(time) { return this.dates() ? timeText(Math.round(time), true).replace(" ", "T") + "Z" : String(Number(time.toPrecision(8))); }
  read(text) {
    if (!text.trim()) return null;
    const number = Number(text);
    return Number.isNaN(number) ? Date.parse(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : text.trim() + "Z") / 1000 : number;
  }

  /** Ask why nothing of a kind occurred between two times, and show the best attempts. */
  async whyNot(kind, from, to) {
    const turn = ++this.turn;
    const place = el("div", { class: "tree", "aria-busy": "true" }, el("p", { class: "quiet" }, "asking …"));
    clear(this.host, this.form(kind, from, to), place);
    let answer;
    try {
      answer = await this.ask("why-not", { kind, repair: true, ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) });
    } catch (error) {
      if (turn === this.turn) clear(place, this.problem(error));
      return;
    }
    if (turn !== this.turn) return;
    place.removeAttribute("aria-busy");
    const found = new Explanation(answer.answer ?? answer, this.dates()), { root } = found;
    if (!root || root.kind !== "why_not") return clear(place, el("pre", {}, answer.text ?? ""));
    clear(place, this.verdict(found), (root.rules ?? []).map((rule) => this.ruleAnswer(found, rule)), this.repair(found, answer.repair ?? root.repair));
    const best = root.rules?.flatMap((rule) => rule.attempts)[0];
    this.showGhost(best && !root.occurred ? found.ghost(best) : null);
    say(place.querySelector(".verdict")?.textContent ?? "");
  }

  verdict(found) {
    const { root } = found, name = root.question ?? "it";
    if (root.occurred) return el("p", { class: "verdict" }, el("code", {}, name), " did occur in this time.");
    if (root.unknown || !root.rules?.length) return el("p", { class: "verdict" }, "No rule makes ", el("code", {}, name), typeof root.unknown === "string" && `; did you mean ${root.unknown}?`);
    return el("p", { class: "verdict" }, el("code", {}, name), " did not occur. The nearest miss:");
  }

  ruleAnswer(found, rule) {
    const [best, ...others] = rule.attempts ?? [];
    return el("section", {}, el("pre", { class: "ruletext" }, rule.text),
      (rule.affairs ?? []).map((affair) => el("p", { class: "cause" }, icon("error"), affair.text ?? affair.affair)),
      best && this.attempt(found, best),
      others.length > 0 && el("details", {}, el("summary", {}, `${others.length + (rule.more ?? 0)} further attempts`), others.map((attempt) => this.attempt(found, attempt))));
  }

  attempt(found, attempt) {
    const parts = attempt.parts.map((part) => {
      const node = part.event ? found.node(part.event) : null;
      if (node) return this.eventItem(found, { ...node, kind: node.kind === "derived" ? "match" : node.kind }, new Set());
      const nearest = part.nearest && ` Nearest is ${found.atomOf(part.nearest.nearest)}: ${part.nearest.variable} is ${JSON.stringify(part.nearest.found)}, not ${JSON.stringify(part.nearest.wanted)}.`;
      const range = found.range({ ...part.start, ...(part.end?.to !== undefined ? { to: part.end.to } : part.end?.before !== undefined ? { before: part.end.before } : {}) });
      return el("li", { class: "missing" }, icon("missing"), el("code", {}, part.part), el("small", {}, `missing${range}.${nearest ?? ""}`));
    });
    return el("ul", { class: "attempt" }, parts, found.causes(attempt).map((text) => el("li", { class: "cause" }, icon("error"), el("span", {}, text))));
  }

  repair(found, repair) {
    const changes = found.changes(repair);
    if (!changes.length) return null;
    const status = { proved: "no smaller change does it", irreducible: "none of it can be left out", found: "one that does it" }[repair.status] ?? "";
    return el("section", { class: "repair" }, el("h4", {}, "It would occur if you"),
      el("ul", {}, changes.map((change) => el("li", {}, change.text))), status && el("small", {}, status),
      changes.every((change) => change.kind !== "fact") && el("button", { type: "button", class: "main", onclick: () => this.apply(changes) }, "Apply to the events"));
  }
}
