// Explanations as the service writes them (a list of nodes that refer to each other by number) -> what is shown: trees of
// premises and tests, attempts with what is missing, texts of repairs.
import { durationText, timeText } from "./times.js";

const EVENTS = new Set(["received", "derived", "raised", "match"]);

export class Explanation {
  constructor(plain, dates) {
    this.nodes = new Map((plain.nodes ?? []).map((node) => [node.n, node]));
    this.root = this.nodes.get(plain.root) ?? null;
    this.complete = plain.complete !== false;
    this.notes = plain.notes ?? [];
    this.dates = dates || Boolean(plain.dates);
  }

  node(n) { return this.nodes.get(n) ?? null; }
  isEvent(node) { return EVENTS.has(node?.kind); }

  /** All inputs below the root. */
  inputs() { return [...this.nodes.values()].filter((node) => node.kind === "received"); }

  /** What a derived event is made of: nodes of events, and texts. */
  premises(node) {
    return node.kind === "derived" ? [...this.parts(node.body), ...this.tests(node)] : node.kind === "raised" ? this.parts(node.by) : [];
  }

  parts(body) {
    if (body === null || body === undefined) return [];
    if (Array.isArray(body)) return body.flatMap((each) => this.parts(each));
    if (typeof body === "number") {
      const node = this.node(body);
      return !node ? [] : this.isEvent(node) ? [{ node }] : this.parts(node);
    }
    const tests = body.tests ? this.tests(body) : [];
    if ("pair" in body) return [...this.parts(body.left), ...this.parts(body.right)];
    if ("tested" in body) return [...this.parts(body.tested), ...tests];
    if ("choice" in body) return this.parts(body.body);
    if ("run" in body) return [...this.parts(body.left), ...this.parts(body.run)];
    if ("together" in body) return this.parts(body.together);
    if ("folded" in body) return [...this.parts(body.opener), ...this.parts(body.elements), { text: `${body.folded} is ${show(body.value)}` }];
    if ("moment" in body) return [{ text: `time reached ${this.time(body.moment)}` }];
    if ("awaited" in body) return [...this.parts(body.awaited), { text: this.nothing(body.no) }];
    if ("rung" in body) return [...this.parts(body.rung), { text: `due at ${this.time(body.due)}` }];
    if ("nothing" in body) return [{ text: this.nothing(body) }];
    return [];
  }

  tests(node) {
    return (node.tests ?? []).map((test) => {
      if ("window" in test) return { text: `${durationText(test.actual)} long, within ${durationText(test.window)}` };
      if ("nothing" in test) return { text: this.nothing(test) };
      if ("alone" in test) return { text: "nothing else in between" };
      if ("taken" in test) return { text: `chosen by the policy ${test.taken}` };
      if ("held" in test) return { text: `${test.by ?? "where"} ${test.held}`, proof: (test.proof ?? []).map((n) => this.proof(n)).filter(Boolean) };
      return { text: JSON.stringify(test) };
    });
  }

  proof(n) {
    const node = this.node(n);
    if (!node) return null;
    if (this.isEvent(node)) return { node };
    const below = (node.premises ?? []).map((each) => this.proof(each)).filter(Boolean);
    const said = { fact: "known", built_in: "holds", called: "answered by the host", deeper: "proved further down" }[node.kind];
    return { text: `${node.head ?? node.goal ?? node.atom ?? node.kind}${said ? " — " + said : ""}`, proof: below };
  }

  time(t) { return timeText(Number(t), this.dates); }

  /** `no stop after 10:00, before 10:05`. */
  nothing(test) { return `no ${test.nothing}${this.range(test)}`; }

  range(bounds) {
    const words = [["after", "after"], ["from", "from"], ["before", "before"], ["to", "up to"]];
    const told = words.filter(([key]) => bounds?.[key] !== undefined).map(([key, word]) => `${word} ${this.time(bounds[key])}`);
    return told.length ? " " + told.join(", ") : "";
  }

  atomOf(n) {
    const node = this.node(n);
    return node ? `${node.atom} [${node.start === node.end ? "" : this.time(node.start) + " – "}${this.time(node.end)}]` : "?";
  }

  /** The lines that say why an attempt failed, but for missing parts. */
  causes(attempt) {
    return (attempt.causes ?? []).map((cause) => {
      if ("missing" in cause) return null;
      if ("order" in cause) return `${this.atomOf(cause.left)} ${cause.order} ${this.atomOf(cause.right)} does not hold, by ${durationText(cause.by)}`;
      if ("too_long" in cause) return `${durationText(cause.actual)} long, within ${durationText(cause.too_long)}: ${durationText(cause.actual - cause.too_long)} too long`;
      if ("condition" in cause) return `${bound(cause.failing ?? cause.condition, cause.bindings)} ${cause.error ? "failed: " + cause.error : "does not hold"}`;
      if ("knowledge" in cause) return `${cause.knowledge} was known only later`;
      if ("value" in cause) return `the value was never ${cause.value}${cause.found?.length ? ", but " + cause.found.slice(0, 3).map(([value]) => show(value)).join(", ") : ""}`;
      if ("blocked" in cause) return `${cause.blocked.map((n) => this.atomOf(n)).join(", ")} stood in between`;
      if ("withheld" in cause) return `${this.atomOf(cause.part)} was ${cause.withheld.replaceAll("_", " ")}${cause.by?.length ? " by " + cause.by.map((n) => this.atomOf(n)).join(", ") : ""}`;
      if ("affair" in cause) return cause.text;
      if ("pending" in cause) return `still open until ${this.time(cause.pending)}`;
      return JSON.stringify(cause);
    }).filter(Boolean);
  }

  /** What an attempt lacks, for the time line: {name, from, to}; and the inputs that blocked it. */
  ghost(attempt) {
    const missing = attempt.parts.filter((part) => part.event === null || part.event === undefined).map((part) => ({
      name: /^[^(]*/.exec(part.pattern ?? part.part)[0].trim(),
      from: part.start?.after ?? part.start?.from ?? -Infinity,
      to: part.end?.to ?? part.end?.before ?? Infinity,
    }));
    return { missing, blockers: (attempt.causes ?? []).flatMap((cause) => cause.blocked ?? []).map((n) => this.node(n)) };
  }

  /** Changes of a repair, each with its text and what it changes. */
  changes(repair) {
    return (repair?.repair ?? []).map((change) => {
      if (change.remove !== undefined) return { kind: "remove", node: this.node(change.remove), text: `remove ${this.atomOf(change.remove)}` };
      if (change.move !== undefined) return { kind: "move", node: this.node(change.move), start: change.start, end: change.end, text: `move ${this.atomOf(change.move)} to ${this.time(change.end)}` };
      if (change.add_fact !== undefined) return { kind: "fact", text: `add the fact ${change.add_fact}` };
      return { kind: "add", atom: change.atom, start: change.start, end: change.end, text: `add ${change.atom} at ${this.time(change.end)}` };
    });
  }
}

const show = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));

function bound(goal, bindings = {}) {
  return String(goal).replace(/\b[A-Z_]\w*\b/g, (name) => (bindings[name] === undefined ? name : show(bindings[name])));
}
