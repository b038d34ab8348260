// Expressions of SNOOP-R: text and XML side by side, registrations with the state of their leaves, 004's event graph, a
// form to signal; and a run, which registers the expression and signals the events of the page.
import { Refused, call } from "./api.js";
import { $, clear, el, icon, note, plural } from "./dom.js";
import { Editor } from "./editor.js";
import { page } from "./page.js";
import { Plan } from "./plan.js";
import { atomText } from "./rows.js";

const BATCH = 500;

export class Expressions {
  constructor(host) {
    this.own = null; // the number of what this page has registered
    this.list = el("div", {});
    this.signalling = el("form", { class: "adding", onsubmit: (event) => { event.preventDefault(); this.signal(); } });
    this.graphed = el("div", { class: "graph" });
    host.append(
      el("section", { class: "part" }, el("div", { class: "toolbar" }, el("h2", {}, "Registered"), el("span", { class: "grow" }), el("button", { type: "button", onclick: () => this.register() }, "Register the program"), el("button", { type: "button", class: "plain", "aria-label": "Refresh", title: "Refresh", onclick: () => this.refresh() }, icon("reset"))), this.list),
      el("section", { class: "part" }, el("h2", {}, "Signal"), this.signalling),
      el("section", { class: "part last" }, el("h2", {}, "Event graph"), this.graphed));
    this.graph = new Plan(this.graphed, { onChoose: (node, place) => this.tell(node, place), empty: "Leaves of one type are one box, and so are equal parts; what waits is counted." });
    window.addEventListener("pagehide", () => this.forget());
  }

  /** Show the XML of the program under it, or no longer. */
  beside(host, is) {
    if (is && !this.xml) {
      this.side = el("div", { class: "side" }, el("h2", {}, "The same as XML"));
      host.append(this.side);
      this.xml = new Editor(this.side, { label: "Expression in XML", language: "xml", onChange: (text) => this.fromXml(text), onRun: () => {} });
    }
    if (this.side) this.side.hidden = !is;
  }

  /** The text was written: convert it, or say what is wrong with it. */
  async written(text, show) {
    const turn = this.turn = (this.turn ?? 0) + 1;
    if (!text.trim()) return show([]);
    try {
      const xml = await this.convert(text, "text/plain", "xml");
      if (turn !== this.turn) return null;
      if (this.xml && document.activeElement !== this.xml.area) this.xml.value = xml;
      return show([]);
    } catch (error) {
      return turn === this.turn && error instanceof Refused ? show(error.problems) : null;
    }
  }

  async fromXml(xml) {
    try {
      const text = await this.convert(xml, "application/xml", "text");
      this.xml.show([]);
      page.editor.value = text;
      page.changed();
    } catch (error) {
      if (error instanceof Refused) this.xml.show(error.problems.length ? error.problems : [{ severity: "error", message: error.message, line: 1 }]);
    }
  }

  convert(text, type, to) { return call("POST", `/snoop/convert?to=${to}`, text, { type, accept: to === "json" ? "application/json" : "*/*, application/json" }); }

  async register(text = page.editor.value) {
    if (page.state.language !== "snoop-r") { note("Choose SNOOP-R above the program, and write an expression"); return null; }
    try {
      const made = await call("POST", "/snoop/expressions", text, { type: "text/plain" });
      this.refresh();
      return Number(/(\d+)$/.exec(made.evaluation)[1]);
    } catch (error) {
      if (error instanceof Refused && error.problems.length) page.editor.show(error.problems);
      note(error.message);
      return null;
    }
  }

  /** What the page has registered for a run goes with it. */
  forget() {
    if (this.own === null) return;
    call("DELETE", `/snoop/expressions/${this.own}`).then(() => this.refresh()).catch(() => {});
    this.own = null;
    $("count-expressions").textContent = "";
  }

  /** Register the expression, signal all rows, and show the results. */
  async run(text, read) {
    this.forget();
    const number = await this.register(text);
    if (number === null) return;
    this.own = number;
    const inputs = read.rows.map((row) => page.run.received(row)); // marks, in the order of the rows
    let discarded = 0;
    for (let at = 0; at < read.rows.length; at += BATCH) {
      const signals = read.rows.slice(at, at + BATCH).map((row) => JSON.parse(row.sent));
      const answer = await call("POST", "/snoop/signals", { signals });
      discarded += answer.discarded?.length ?? 0;
    }
    const records = [];
    for (let after = 0; ;) {
      const { results, next } = await call("GET", `/snoop/expressions/${number}/results?after=${after}`);
      records.push(...results.filter((result) => result.kind === "result" && result.events).map((result) => this.record(result, read.rows, inputs)));
      if (!results.length || next === after) break;
      after = next;
    }
    page.run.show(records);
    if (discarded) note(`${plural(discarded, "signal")} discarded: a variable was unbound or undeclared`);
    this.refresh();
  }

  /** A result as a match: on the time of the signals that contributed. */
  record(result, rows, inputs) {
    const leaves = [];
    const walk = (node) => { if (node.arguments) node.arguments.forEach(walk); else leaves.push(node); };
    walk(result.events);
    const times = leaves.map((leaf) => Date.parse(leaf.at ?? leaf.start) / 1000);
    const parts = leaves.map((leaf, i) => inputs[rows.findIndex((row) => row.name === leaf.operator && Math.abs(row.end - times[i]) < 1e-3)]).filter((id) => id !== undefined);
    const values = Object.entries(result.bindings ?? {}), name = "result";
    return { name, kind: name, values, text: atomText(name, values.map(([, value]) => value)), short: values.map(([, value]) => value).join(", "), start: Math.min(...times), end: Math.max(...times), rule: null, derived: true, number: result.number, input: null, line: null, flat: result, parts, events: result.events };
  }

  async refresh() {
    if ($("panel-expressions").hidden) return;
    try {
      const { expressions } = await call("GET", "/snoop/expressions");
      const told = await Promise.all(expressions.slice(0, 50).map((each) => call("GET", `/snoop/expressions/${each.number}`)));
      $("count-expressions").textContent = expressions.length || "";
      clear(this.list, told.length ? told.map((each) => this.item(each)) : el("p", { class: "nothing" }, "No expressions are registered. Choose SNOOP-R above the program and run one, or register it to stay."));
      this.paintForm(told);
      this.graph.show(this.boxes(await call("GET", "/snoop/graph")));
    } catch (error) {
      clear(this.list, el("p", { class: "nothing" }, error.message));
    }
  }

  item(told) {
    return el("article", { class: "registration" },
      el("header", {}, el("code", {}, told.text.replace(/^[^.]*= "[^"]*"\.\s*/gm, "").replace(/\(\s+/g, "(").trim()), el("button", { type: "button", onclick: async () => { await call("DELETE", `/snoop/expressions/${told.number}`).catch((error) => note(error.message)); this.refresh(); } }, "Remove")),
      el("small", {}, `expression ${told.number} · ${told.state} · ${plural(told.results, "result")} · next ${told.state === "active" ? told.number : "none"}${told.number === this.own ? " · of this page's run" : ""}`),
      el("ul", { class: "leafs", "aria-label": "Leaves" }, told.leaves.map((leaf) => el("li", { class: leaf.state === "alive" ? "" : "dead" }, `${leaf.path} ${leaf.operator ?? leaf.language}: ${leaf.state}, ${leaf.taken} taken, ${leaf.waiting} waiting`))));
  }

  /** The graph as a plan: what shares a box says for how many expressions it stands. */
  boxes({ nodes, links }) {
    return { links, nodes: nodes.map((node) => ({ id: node.id, label: node.label, kind: node.kind === "composite" ? "head" : "event", waiting: node.waiting, language: node.language, definitions: node.definitions ?? [] })) };
  }

  tell(node, place) {
    place.hidden = false;
    clear(place, el("h4", {}, node.label), node.language && el("small", {}, node.language), el("ul", { class: "waits" }, node.definitions.map((each) => el("li", {}, `expression ${each.expression}, part ${each.path}: `, el("code", {}, each.text), el("small", {}, ` ${each.state}, ${each.waiting} waiting`)))));
  }

  /** One kind of signal for each leaf that is fed by type. */
  paintForm(told) {
    const kinds = new Map();
    const walk = (node) => {
      if (node.arguments) node.arguments.forEach(walk);
      else if (node.operator && node.language) {
        const key = `${node.language} ${node.operator}`, known = kinds.get(key) ?? kinds.set(key, { operator: node.operator, language: node.language, parameters: new Set() }).get(key);
        for (const name of Object.keys(node.having ?? {})) known.parameters.add(name);
      }
    };
    for (const each of told) if (each.expression) walk(each.expression);
    const all = [...kinds.values()], key = JSON.stringify(all.map((each) => [each.operator, each.language, ...each.parameters]));
    if (key === this.formKey) return;
    this.formKey = key;
    if (!all.length) return clear(this.signalling, el("p", { class: "quiet" }, "What is registered says which signals there are."));
    const select = el("select", { "aria-label": "Kind of signal", onchange: () => fields() }, all.map((each, i) => el("option", { value: i }, each.operator))), inputs = el("span", { class: "inputs" });
    const fields = () => {
      this.kind = all[Number(select.value)];
      clear(inputs, [...this.kind.parameters].map((name) => el("label", {}, name, el("input", { name, "aria-label": name, autocomplete: "off" }))));
    };
    clear(this.signalling, select, inputs, el("button", { type: "submit" }, "Signal"));
    fields();
  }

  async signal() {
    const parameters = Object.fromEntries([...this.kind.parameters].map((name) => [name, this.signalling.elements[name].value]).filter(([, value]) => value !== ""));
    try {
      const answer = await call("POST", "/snoop/signals", { signal: { operator: this.kind.operator, language: this.kind.language, parameters, at: new Date().toISOString() } });
      note(answer.matched ? `Taken by ${plural(answer.matched, "leaf", "leaves")}` : "Taken; it is for nobody");
      this.refresh();
    } catch (error) { note(error.message); }
  }
}
