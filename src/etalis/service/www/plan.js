// The plan: boxes and links of `/explain`, laid out in layers from the inputs to the heads, with what waits in each.
import { clear, el, svg } from "./dom.js";
import { valueText } from "./rows.js";

const WIDE = 236, LETTER = 6.9, GAP = 26, LAYER = 64, PAD = 16;

export class Plan {
  constructor(host, { onChoose, empty }) {
    this.host = host;
    this.onChoose = onChoose;
    this.nodes = new Map();
    this.picture = el("div", { class: "plan", tabindex: "0", role: "group", "aria-label": empty ? "Event graph" : "Plan" });
    this.detail = el("div", { class: "detail", hidden: true });
    this.empty = el("p", { class: "nothing" }, empty ?? "The plan shows how rules are run: where events come in, what is joined, what waits. Run a program to see it.");
    host.append(this.picture, this.detail, this.empty);
    this.picture.hidden = true;
  }

  clear() {
    this.nodes.clear();
    this.links = [];
    this.key = "";
    this.picture.hidden = true;
    this.detail.hidden = true;
    this.empty.hidden = false;
  }

  /** Draw a plan; when only the counts differ from the last, nothing moves. */
  show({ nodes, links }) {
    if (!nodes.length) return this.clear();
    const key = JSON.stringify([nodes.map((node) => [node.id, node.label]), links]);
    this.empty.hidden = true;
    this.picture.hidden = false;
    if (key !== this.key) { this.key = key; this.build(nodes, links); }
    for (const node of nodes) this.count(node);
    return null;
  }

  build(nodes, links) {
    this.links = links;
    const known = new Set(nodes.map((node) => node.id)), edges = links.filter((link) => known.has(link.from) && known.has(link.to));
    const place = arrangeAll(nodes, edges, Math.max(this.host.parentElement.clientWidth, 480)), width = Math.max(...[...place.values()].map((p) => p.x + p.width)) + PAD, height = Math.max(...[...place.values()].map((p) => p.y + p.height)) + PAD;
    this.nodes = new Map();
    const lines = edges.map((link) => {
      const a = place.get(link.from), b = place.get(link.to), from = [a.x + a.width / 2, a.y + a.height], to = [b.x + b.width / 2, b.y];
      const back = to[1] <= from[1], bend = back ? 60 : Math.max((to[1] - from[1]) / 2, 20);
      return svg("path", { class: "link", d: `M${from} C${from[0]} ${from[1] + bend} ${to[0]} ${to[1] - bend} ${to}` });
    });
    const boxes = nodes.map((node) => this.box(node, place.get(node.id)));
    clear(this.picture, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "presentation" }, lines, boxes));
  }

  box(node, place) {
    const text = splitText(node.label, Math.floor((place.width - 20) / LETTER));
    const badge = svg("g", { class: "waiting", "aria-hidden": "true", transform: `translate(${place.x + place.width - 8} ${place.y})` }, svg("rect", { x: -14, y: -10, width: 28, height: 18, rx: 9 }), svg("text", { y: 3, "text-anchor": "middle" }));
    const box = svg("g", { class: `box ${node.kind ?? ""}`, transform: `translate(${place.x} ${place.y})`, tabindex: "0", role: "button", "aria-label": node.label, onclick: () => this.choose(node.id), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.choose(node.id); } } },
      svg("title", {}, node.label), svg("rect", { width: place.width, height: place.height, rx: 6 }),
      text.map((line, i) => svg("text", { x: place.width / 2, y: 20 + i * 16, "text-anchor": "middle" }, line)));
    this.nodes.set(node.id, { node, box, badge });
    return [box, badge];
  }

  count(node) {
    const known = this.nodes.get(node.id);
    if (!known) return;
    const waits = typeof node.waiting === "number" ? node.waiting : Object.values(node.waiting ?? {}).reduce((sum, n) => sum + (Number(n) || 0), 0);
    const text = waits ? waits.toLocaleString("en") : "";
    const label = known.badge.lastChild;
    if (label.textContent !== text && known.seen) this.pulse(node.id);
    known.seen = true;
    label.textContent = text;
    known.badge.firstChild.setAttribute("width", Math.max(text.length * 7 + 12, 20));
    known.badge.firstChild.setAttribute("x", -Math.max(text.length * 7 + 12, 20) / 2);
    known.badge.setAttribute("visibility", waits ? "visible" : "hidden");
    known.box.setAttribute("aria-label", `${node.label}${waits ? `, ${waits} waiting` : ""}`);
    known.node = node;
  }

  pulse(id) {
    const { box } = this.nodes.get(id);
    box.classList.remove("pulse");
    requestAnimationFrame(() => box.classList.add("pulse"));
  }

  /** Light the boxes of a rule; null for none. */
  light(rule) { this.lightThese((node) => rule !== null && String(node.rule) === String(rule)); }

  lightThese(which) {
    for (const { node, box } of this.nodes.values()) box.classList.toggle("lit", which(node));
  }

  /** What waits in each box. */
  waiting() { return new Map([...this.nodes].map(([id, { node }]) => [id, node.waiting ?? 0])); }

  /** Light the boxes that an event has reached, which caused `found`: the patterns that it fits, what joins it there, as far
      as something waits that did not `before` or a match has come of it, and the heads of these matches with all that reads them. */
  reach(event, found, before) {
    const rules = new Set(found.map((record) => String(record.rule))), lit = new Set();
    const all = [...this.nodes.values()].map(({ node }) => node);
    for (const node of all) {
      const caused = rules.has(String(node.rule));
      if (node.kind === "event") { if ([event, ...found].some((each) => fits(node.label, each))) lit.add(node.id); } else if (caused && (node.kind === "head" || node.kind === "operator")) lit.add(node.id);
      else if (node.waiting !== undefined && node.waiting !== before.get(node.id)) lit.add(node.id);
    }
    for (const { from, to } of this.links) { // an instance may have taken the place of another
      const above = this.nodes.get(from)?.node, below = this.nodes.get(to)?.node;
      if (lit.has(from) && above?.kind === "event" && below?.waiting > 0 && !above.details?.some((each) => each.startsWith("prefilter"))) lit.add(to);
    }
    this.lightThese((node) => lit.has(node.id));
  }

  /** The kinds of the patterns above a box, itself included: `name/arity`. */
  kindsAbove(id) {
    const seen = new Set(), kinds = new Set();
    const visit = (at) => {
      if (seen.has(at)) return;
      seen.add(at);
      const node = this.nodes.get(at)?.node;
      if (!node) return;
      if (node.kind === "event" || node.kind === "head") kinds.add(kindOf(node.label));
      if (node.kind !== "event") for (const { from, to } of this.links) if (to === at) visit(from);
    };
    visit(id);
    return kinds;
  }

  /** No box is chosen. */
  leave() {
    this.detail.hidden = true;
    for (const { box } of this.nodes.values()) box.classList.remove("chosen");
  }

  choose(id) {
    for (const [each, { box }] of this.nodes) box.classList.toggle("chosen", each === id);
    const { node, box } = this.nodes.get(id);
    Promise.resolve(this.onChoose(node, this.detail)).then(() => box.scrollIntoView({ block: "nearest", inline: "nearest" }));
  }
}

/** The name and arguments of an atom as text: `a(X, 'b, c')` gives `["a", "X", "'b, c'"]`. */
function parts(atom) {
  const found = [""];
  let depth = 0;
  for (const [piece] of atom.matchAll(/'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|[^]/gu)) {
    if (piece === ")" || piece === "]") depth--;
    if ((piece === "(" && !depth) || (piece === "," && depth === 1)) found.push("");
    else if (piece !== ")" || depth) found[found.length - 1] += piece;
    if (piece === "(" || piece === "[") depth++;
  }
  return found.map((each) => each.trim());
}

const plain = (text) => String(text).replace(/^'(.*)'$/s, "$1").replace(/^(-?\d+)\.0$/, "$1");
const kindOf = (label) => { const [name, ...args] = parts(label); return `${plain(name)}/${args.length}`; };

/** Whether an event fits a pattern, as far as its name, its arity and the constants tell. */
function fits(label, { name, values }) {
  const [called, ...args] = parts(label);
  if (plain(called) !== name) return false;
  return name === "rdf" || (args.length === values.length && args.every((arg, i) => /^[A-Z_]/.test(arg) || /[(\[]/.test(arg) || plain(arg) === plain(valueText(values[i][1]))));
}

/** A text in lines of at most so many letters, three at most. */
function splitText(text, letters) {
  const lines = [""];
  for (const word of String(text).split(/\s+/)) {
    if (!lines.at(-1)) lines[lines.length - 1] = word;
    else if (lines.at(-1).length + word.length < letters) lines[lines.length - 1] += " " + word;
    else lines.push(word);
  }
  const shown = lines.slice(0, 3).map((line) => (line.length > letters ? line.slice(0, letters - 1) + "…" : line));
  if (lines.length > 3) shown[2] = shown[2].slice(0, letters - 1) + "…";
  return shown;
}

/** Places of boxes that may fall apart into groups without links: these stand side by side, and then below each other. */
function arrangeAll(nodes, links, most) {
  const group = new Map(nodes.map((node) => [node.id, node.id]));
  const first = (id) => { while (group.get(id) !== id) id = group.get(id); return id; };
  for (const { from, to } of links) group.set(first(to), first(from));
  const places = new Map();
  let x = 0, y = 0, low = 0;
  for (const [, some] of Map.groupBy(nodes, (node) => first(node.id))) {
    const place = arrange(some, links.filter((link) => first(link.from) === first(some[0].id)));
    const right = Math.max(...[...place.values()].map((p) => p.x + p.width)) + GAP - PAD, bottom = Math.max(...[...place.values()].map((p) => p.y + p.height));
    if (x > 0 && x + right + PAD > most) [x, y] = [0, low];
    for (const [id, p] of place) places.set(id, { ...p, x: p.x + x, y: p.y + y });
    x += right;
    low = Math.max(low, y + bottom + GAP - PAD + 8);
  }
  return places;
}

/** Places of boxes: a layer is one below the deepest that leads to it; in a layer, by the middle of what is above. */
export function arrange(nodes, links) {
  const into = new Map(nodes.map((node) => [node.id, []])), depth = new Map();
  for (const { from, to } of links) into.get(to).push(from);
  const state = new Map();
  const visit = (id) => { // links back, of recursive rules, do not count
    if (state.get(id) === "open") return -1;
    if (state.get(id) === "done") return depth.get(id);
    state.set(id, "open");
    depth.set(id, Math.max(-1, ...into.get(id).map(visit)) + 1);
    state.set(id, "done");
    return depth.get(id);
  };
  for (const node of nodes) visit(node.id);
  for (const node of nodes) { // inputs stand right above what reads them
    const below = links.filter((link) => link.from === node.id).map((link) => depth.get(link.to));
    if (!into.get(node.id).length && below.length) depth.set(node.id, Math.max(Math.min(...below) - 1, 0));
  }
  const layers = [];
  for (const node of nodes) (layers[depth.get(node.id)] ??= []).push(node);
  const place = new Map();
  let y = PAD;
  for (const layer of layers) {
    const size = layer.map((node) => {
      const longest = String(node.label).length * LETTER + 24, width = Math.max(Math.min(longest, WIDE), 76);
      return { width, height: 12 + 16 * splitText(node.label, Math.floor((width - 20) / LETTER)).length };
    });
    const wanted = layer.map((node, i) => {
      const above = into.get(node.id).map((id) => place.get(id)).filter(Boolean);
      return above.length ? above.reduce((sum, p) => sum + p.x + p.width / 2, 0) / above.length - size[i].width / 2 : null;
    });
    const order = layer.map((_, i) => i).sort((a, b) => (wanted[a] ?? Infinity) - (wanted[b] ?? Infinity) || a - b);
    let x = PAD;
    for (const i of order) {
      const left = Math.max(x, wanted[i] ?? x);
      place.set(layer[i].id, { x: left, y, ...size[i] });
      x = left + size[i].width + GAP;
    }
    y += Math.max(...size.map((each) => each.height)) + LAYER - 24;
  }
  return place;
}
