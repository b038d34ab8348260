// Running, stepping and watching: what the buttons of the bar do.
import { Away, Refused, call } from "./api.js";
import { $, clear, el, note, plural, say } from "./dom.js";
import { page, written } from "./page.js";
import { paintEmpty, paintState, paintStatus, paintWelcome } from "./seen.js";
import { applyWanted, setLanguage } from "./sessions.js";
import { durationText, timeText } from "./times.js";
import { lock, tellOf } from "./watching.js";

export async function start(stepping = false) {
  if (page.run.running && !page.state.watching) return page.run.stop();
  if (page.state.watching) return null;
  if (!page.editor.value.trim()) { page.showInput("program"); page.editor.area.focus(); return note("Write a program first, or take a sample"); }
  const before = page.state.ran ? page.matches.rows : [];
  const began = performance.now();
  page.state.run = written();
  begin();
  try {
    if (page.state.language === "snoop-r") {
      page.run.reset();
      await page.expressions.run(page.editor.value, page.events.read);
      return finish(before, began);
    }
    await page.run.start({ program: page.editor.value, language: page.state.language, policy: $("policy").value || null, background: page.background.value.trim() || null });
    page.state.checked++;
    if (stepping) return page.run;
    await page.run.run(page.events.read, { close: $("close-after").checked, table: page.events.table });
    finish(before, began);
  } catch (error) {
    troubled(error);
  }
  return null;
}

/** Clear what the run before has shown. */
export function begin() {
  page.state.stale = false;
  $("stale").hidden = true;
  document.body.classList.remove("stale");
  page.timeline.before = false;
  page.choose(null, false);
  page.state.back = [];
  page.marks.clear();
  page.matches.clear();
  page.inspector.clear();
  page.events.refused = [];
  page.events.mark();
  page.events.light(0);
  page.timeline.fitted = true;
  page.timeline.dates = page.events.read.dates;
  page.plan.clear();
  paintEmpty();
  $("outcome").textContent = "";
}

export function finish(before = [], began = 0) {
  if (before.length) page.matches.compare(before);
  page.state.ran += 1;
  const found = page.marks.lanes.filter((lane) => lane.derived).reduce((sum, lane) => sum + lane.total, 0);
  const text = `${plural(page.run.sent || page.run.taken || page.marks.count - found, "event")}, ${plural(found, "match", "matches")}${page.run.late ? `, ${page.run.late} late` : ""}`;
  $("outcome").textContent = text + (began ? ` · ${durationText(Math.round(performance.now() - began) / 1000)}` : "");
  say(text);
  page.matches.update();
  page.timeline.grown();
  paintEmpty();
  refreshPlan();
  if (page.state.wanted) applyWanted();
}

export function troubled(error) {
  if (error.name === "AbortError") return;
  if (error instanceof Refused && error.problems.some((problem) => problem.line)) { page.editor.show(error.problems); page.showInput("program"); paintStatus(); }
  note(error.message + (error.hint ? ` — ${error.hint}` : ""));
}

let planning = false;
export async function refreshPlan(always = false) {
  if (!page.run.engine || planning || (!always && $("panel-plan").hidden)) return;
  planning = true;
  try { page.plan.show(await page.run.plan()); } catch (error) { if (!(error instanceof Away)) page.plan.clear(); }
  planning = false;
}
export async function step(many) {
  if (page.run.running || page.state.watching) return;
  if (page.state.language === "snoop-r") return note("Expressions are run as a whole");
  if (page.events.table) return note(`${page.events.table.name} goes to the service as a whole; run it`);
  const { read } = page.events;
  if (!page.run.engine || page.state.stale || page.run.closed) {
    if (!(await start(true))) return;
  }
  await refreshPlan(true);
  const before = page.plan.waiting();
  if (!page.run.sent) page.showInput("events");
  const rows = read.rows.slice(page.run.sent, page.run.sent + (many ? 10 : 1));
  try {
    const found = rows.length ? await page.run.send(read, rows) : await page.run.close();
    const last = rows.at(-1);
    if (last) page.events.light(last.line);
    const id = page.run.inputs.at(-1);
    if (last && id !== undefined) { page.timeline.chosen = id; page.timeline.parts = []; page.timeline.reveal(id); }
    const caused = found.map((record) => record.text).join(", ");
    $("outcome").textContent = last ? `${page.events.label(last)} → ${caused || "nothing yet"}` : `the stream has ended → ${caused || "nothing more"}`;
    say($("outcome").textContent);
    if (found.length) page.choose(found.at(-1).id, false);
    paintStatus();
    paintState();
    await refreshPlan(true);
    if (id !== undefined && last) page.plan.reach(page.marks.record(id), found, before);
    if (!found.length && last) await showWaiting();
  } catch (error) {
    troubled(error);
  }
}

/** What has begun and waits, after a step that caused nothing. */
async function showWaiting() {
  const rows = (await page.run.partial()).partial ?? [];
  if (!rows.length) return;
  clear($("panel-why"), el("h2", {}, "Waiting now"), el("ul", { class: "waits" }, rows.slice(0, 50).map((row) => waitItem(row))));
}

export async function sendOne(row) {
  try {
    const answer = await call("POST", `${page.run.path}/events`, JSON.stringify(row) + "\n", { type: "application/x-ndjson" });
    note(answer.rejected?.length ? answer.rejected[0].message : `Sent: ${plural(answer.matches?.length ?? 0, "match", "matches")}`);
  } catch (error) { troubled(error); }
}

/** What waits in a box of the plan; its rule and its lanes are lit. */
export async function showNode(node, place) {
  page.plan.light(node.rule ?? null);
  page.lanes.light(page.plan.kindsAbove(node.id));
  const rule = page.state.rules.find((each) => String(each.id) === String(node.rule));
  if (rule?.line) page.editor.light(rule.line, page.editor.lastOf(rule.line));
  const ofRule = (rules) => node.rule === undefined || rules.map(String).includes(String(node.rule));
  const [partial, state] = await Promise.all([page.run.partial(), page.run.state()].map((asked) => asked.catch(() => null)));
  const begun = (partial?.partial ?? []).filter((row) => ofRule([row.rule])), parts = (state?.waiting ?? []).filter((row) => ofRule(row.rules) && (node.kind === "head" || row.operator === node.label));
  place.hidden = false;
  clear(place, el("h3", {}, node.label, node.rule !== undefined && [" · ", el("button", { type: "button", class: "link", onclick: () => page.goToRule(node.rule) }, `rule ${node.rule}`)]),
    node.details?.length > 0 && node.kind !== "head" && el("p", { class: "quiet" }, node.details.filter((each) => !/ waits?$/.test(each)).join(" · ")),
    parts.length > 0 && el("ul", { class: "leafs" }, parts.map((row) => el("li", {}, `${node.kind === "head" ? row.operator + ", " : ""}${row.part}: ${row.instances ? `${row.instances.toLocaleString("en")} waiting, the oldest from ${timeText(row.oldest, page.timeline.dates)}` : "none waits"}`))),
    begun.length ? el("ul", { class: "waits" }, begun.slice(0, 20).map((row) => waitItem(row)), begun.length > 20 && el("li", {}, `and ${(begun.length - 20).toLocaleString("en")} more`)) : el("p", { class: "quiet" }, "Nothing has begun that could still become a match."));
}

/** What has begun: the events that are there, and what is wanted yet. */
function waitItem(row) {
  return el("li", {}, el("code", {}, (row.present ?? []).join(", ")), " waits for ", el("code", {}, [...(row.awaited ?? []), ...(row.open ?? [])].join(", ") || "time to pass"),
    el("small", {}, ` rule ${row.rule}${row.until !== null && row.until !== undefined ? `, until ${timeText(row.until, page.timeline.dates)}` : ""}`));
}

// Watching
export async function watch(name, range = null) {
  page.state.watching = name;
  begin();
  page.run.reset();
  lock(true, page);
  paintState();
  paintWelcome(false);
  try {
    const told = await tellOf(name);
    if (told.program !== undefined) { page.editor.value = told.program; setLanguage(told.language ?? "rules", false); page.check(); }
    if (told.policy) $("policy").value = told.policy;
    if (range) { page.timeline.live = false; page.timeline.fitted = false; page.timeline.view = { first: range[0], last: range[1] }; }
    await page.run.watch(name);
    note(`The engine ${name} has ended`);
  } catch (error) {
    if (error.name === "AbortError") return;
    troubled(error);
    unwatch();
  }
}

export function unwatch() {
  if (!page.state.watching) return;
  page.state.watching = null;
  page.run.reset();
  page.marks.reset();
  $("engine").value = "";
  lock(false, page);
  paintState();
}
