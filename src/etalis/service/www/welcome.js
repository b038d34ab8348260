// The first thing a visitor sees: what this is, and six samples, each with a small picture of its events and matches.
import { call } from "./api.js";
import { clear, el, plural, svg } from "./dom.js";
import { readRows } from "./rows.js";

let known = null;
/** The samples that the service has. */
export async function samples() {
  known ??= (await call("GET", "/samples.json")).samples;
  return known;
}

export async function welcome(host, { open, close }) {
  const heading = el("header", {}, el("h2", {}, "What happens, in which order, and what must not happen in between"),
    el("p", {}, "Write rules, feed events, see what they detect and why. Nothing here leaves your machine but to the service that served this page."));
  const cards = el("div", { class: "cards" });
  clear(host, close && el("button", { type: "button", class: "plain leave", "aria-label": "Close samples", onclick: close }, "✕"), heading, cards,
    el("p", { class: "or" }, "Or write a rule on the left, or drop a file with a program, events or a session here."));
  let all;
  try {
    all = await samples();
  } catch (error) {
    return clear(cards, el("p", { class: "nothing" }, `The samples could not be loaded: ${error.message}`));
  }
  clear(cards, all.map((sample) => el("button", { type: "button", class: "card", "data-sample": sample.id, onclick: () => open(sample) },
    el("h3", {}, sample.title), picture(sample), el("p", {}, sample.sentence),
    el("small", {}, `${plural(sample.inputs, "event")} · ${plural(sample.matches, "match", "matches")}${sample.language === "rules" ? "" : ` · ${{ "snoop-r": "SNOOP-R", "ep-sparql": "EP-SPARQL" }[sample.language]}`}`))));
}

/** Events above, matches below, over time. */
function picture(sample) {
  const found = sample.found ?? [], rows = sample.marks?.map(([name, start, end]) => ({ name, start, end })) ?? readRows(sample.events).rows;
  const all = [...rows.map((row) => [row.start, row.end]), ...found.map(([, start, end]) => [start, end])];
  const low = Math.min(...all.map(([start]) => start)), span = Math.max(...all.map(([, end]) => end)) - low || 1, x = (t) => 8 + ((t - low) / span) * 224;
  const names = [...new Set(rows.map((row) => row.name))], heads = [...new Set(found.map(([name]) => name))];
  const lanes = Math.max(names.length, 1), upper = (name) => 8 + (names.indexOf(name) * 24) / Math.max(lanes - 1, 1) + (lanes === 1 ? 12 : 0);
  const lower = (name) => 48 + (heads.indexOf(name) * 16) / Math.max(heads.length - 1, 1) + (heads.length === 1 ? 8 : 0);
  return svg("svg", { viewBox: "0 0 240 72", "aria-hidden": "true", class: "mini" },
    svg("path", { class: "axis", d: "M4 40H236" }),
    rows.slice(0, 200).map((row) => (row.start < row.end ? svg("rect", { class: `kind${names.indexOf(row.name) % 8}`, x: x(row.start), y: upper(row.name) - 2.5, width: Math.max(x(row.end) - x(row.start), 3), height: 5, rx: 2.5 })
      : svg("circle", { class: `kind${names.indexOf(row.name) % 8}`, cx: x(row.end), cy: upper(row.name), r: 3.2 }))),
    found.slice(0, 60).map(([name, start, end]) => { const y = lower(name), colour = `kind${(names.length + heads.indexOf(name)) % 8}`; return svg("g", { class: colour }, svg("path", { class: "bar", d: `M${x(start)} ${y}H${x(end)}` }), svg("path", { d: `M${x(end)} ${y - 5}l5 5-5 5-5-5z` })); }));
}
