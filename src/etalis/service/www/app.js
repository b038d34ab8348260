// The page: what the parts do together. A session is a program, its events and a policy; running it is a scratch engine of
// the service; an engine that lives on is watched.
import { Away, Refused, call } from "./api.js";
import { Background } from "./background.js";
import { askToken, dropZone, showKeys } from "./dialogs.js";
import { $, clear, el, kept, note, plural, say } from "./dom.js";
import { Editor, learn } from "./editor.js";
import { Events } from "./events.js";
import { Expressions } from "./expressions.js";
import { Inspector } from "./inspector.js";
import { Lanes } from "./lanes.js";
import { Marks } from "./marks.js";
import { Matches } from "./matches.js";
import { page, written } from "./page.js";
import { divider, showPane, tabs, themes } from "./panes.js";
import { Plan } from "./plan.js";
import { Run } from "./run.js";
import { begin, refreshPlan, sendOne, showNode, start, step, unwatch, watch } from "./running.js";
import { paintEmpty, paintRange, paintState, paintStatus, paintWelcome, stale } from "./seen.js";
import { LANGUAGES, keep, open, openFile, openHash, setLanguage, share } from "./sessions.js";
import { Timeline } from "./timeline.js";
import { spanText } from "./times.js";
import { listEngines } from "./watching.js";
import { samples } from "./welcome.js";

const POLICIES = ["recent", "unrestricted", "chronological", "continuous", "cumulative", "snoop_recent"];
const { state } = page;

const marks = new Marks();
const timeline = new Timeline($("canvas"), marks);
const dates = () => timeline.dates;
const run = new Run(marks, {
  started: () => { timeline.dates = run.setting ? events.read.dates : timeline.dates; },
  records: (records) => {
    timeline.dates ||= Boolean(state.watching) && marks.high > 1e8; // seconds since 1970
    matches.add(records);
    showGrowth();
  },
  refused: (rows) => events.refuse(rows),
  progress: (done, all) => { $("run").querySelector("span").textContent = `Stop · ${Math.floor((100 * done) / all)} %`; },
  state: () => paintState(),
  trouble: (text) => note(text),
});

const runIt = () => start();
const editor = new Editor($("program"), { label: "Program", placeholder: "fraud(Card) <-\n    (use(Card, A) seq use(Card, B))\n    within 10 min where A \\= B.", onRun: runIt, onChange: () => changed() });
const events = new Events($("panel-events"), { onChange: () => eventsChanged(), onRun: runIt, onSend: (row) => sendOne(row), kinds: () => state.kinds });
const background = new Background($("program"), { onRun: runIt, onChange: () => changed() });
const expressions = new Expressions($("panel-expressions"));
const lanes = new Lanes($("lanes"), timeline, { choose: (id) => choose(id), why: () => showResult("why", true), askWhyNot: (lane, from, to) => askWhyNot(lane.name, from, to), onDraw: () => paintRange() });
const matches = new Matches($("panel-matches"), { onChoose: (id) => choose(id), onWhy: () => showResult("why", true), dates, marks });
const plan = new Plan($("panel-plan"), { onChoose: (node, place) => showNode(node, place) });
const inspector = new Inspector($("panel-why"), {
  marks, dates, find: (node) => run.find(node), choose: (id) => choose(id), goToRule: (rule, line) => goToRule(rule, line), ask: (what, question) => run.ask(what, question),
  apply: (changes) => applyRepair(changes), showGhost: (ghost) => showGhost(ghost), derived: () => state.kinds.filter((kind) => kind.role === "derived").map((kind) => `${kind.name}/${kind.arity}`),
  showParts: (record, parts) => { if (timeline.chosen === record.id) { timeline.parts = parts; timeline.redraw(); } },
});
const showInput = tabs($("tabs-left"), "left", (name) => { if (name === "expressions") expressions.refresh(); });
const showTab = tabs($("tabs-result"), "result", (name) => { if (name === "plan") refreshPlan(); });

Object.assign(page, { marks, timeline, run, editor, events, matches, plan, lanes, expressions, background, inspector, showInput, choose, check, changed, askWhyNot, goToRule });

function showResult(name, focus = false) {
  showTab(name);
  if (matchMedia("(max-width: 799px)").matches && name === "why") showPane("results");
  if (focus) $("panel-" + name).focus?.();
}

let growing = 0;
/** Let the time line follow what comes; while much comes, ten times a second. */
function showGrowth() {
  growing ||= setTimeout(() => {
    growing = 0;
    timeline.grown();
    paintEmpty();
  }, run.running ? 100 : 0);
}

function changed() {
  keep();
  if (marks.count && state.run !== written()) stale();
  check();
  paintWelcome();
}

function eventsChanged() {
  keep();
  paintStatus();
  paintEmpty();
}

let checking = null;
async function check() {
  const turn = ++state.checked;
  checking?.abort();
  if (!editor.value.trim() || state.language === "snoop-r") {
    state.kinds = [];
    editor.show([]);
    if (state.language === "snoop-r") expressions.written(editor.value, (problems) => { if (turn === state.checked) editor.show(problems); });
    return checkedUp();
  }
  checking = new AbortController();
  try {
    const found = await call("POST", "/check", { program: editor.value, language: state.language }, { signal: checking.signal });
    if (turn !== state.checked) return; // of an older text
    state.kinds = found.kinds ?? [];
    state.rules = found.rules ?? [];
    editor.show(found.problems ?? []);
    checkedUp();
  } catch (error) {
    if (turn !== state.checked || error.name === "AbortError" || error instanceof Away) return;
    if (error instanceof Refused) editor.show(error.problems.length ? error.problems : [{ severity: "error", message: error.message, hint: error.hint, line: 1 }]);
  }
}

function checkedUp() {
  events.paintForm();
  paintStatus();
}

// Choosing
function choose(id, remember = true) {
  const now = timeline.chosen;
  if (id === now && id !== null) return showResult("why");
  if (remember && now !== null) state.back.push(now);
  timeline.chosen = id !== null && marks.has(id) ? id : null;
  timeline.parts = [];
  timeline.ghost = null;
  const record = timeline.chosen === null ? null : marks.record(id);
  matches.choose(record?.derived ? id : null);
  plan.light(record?.rule ?? null);
  lanes.light();
  editor.light(0);
  if (record) {
    timeline.parts = record.parts ?? [];
    inspector.show(record);
    lanes.reveal(id);
    say(`${record.text}, ${spanText(record.start, record.end, dates())}`);
    if (remember) history.pushState({ chosen: id }, "");
  } else {
    inspector.idle();
    plan.leave();
  }
  timeline.redraw();
  return null;
}
window.addEventListener("popstate", () => { const id = state.back.pop(); choose(id !== undefined && marks.has(id) ? id : null, false); });

function askWhyNot(kind, from, to) {
  choose(null);
  showResult("why");
  inspector.whyNot(kind, from, to);
}

function showGhost(ghost) {
  const lane = (name) => marks.lanes.find((each) => each.name.replace(/\/\d+$/, "") === name);
  timeline.ghost = ghost && { missing: ghost.missing.map((part) => ({ ...part, lane: lane(part.name) })).filter((part) => part.lane), blockers: ghost.blockers.map((node) => node && run.find(node)).filter((id) => id !== null) };
  timeline.redraw();
}

function applyRepair(changes) {
  const problem = events.apply(changes, (node) => { const id = run.find(node); return id === null ? null : events.read.rows.find((row) => row.line === marks.record(id)?.line) ?? null; });
  if (problem) return note(problem);
  showInput("events");
  stale();
  return note("The events are changed; run them to see what comes of it");
}

function goToRule(rule, line = null) {
  const found = line ?? (state.rules.find((each) => String(each.id) === String(rule)) ?? state.rules[Number(rule) - 1])?.line;
  if (matchMedia("(max-width: 799px)").matches) showPane(line ? "events" : "program");
  showInput(line ? "events" : "program");
  if (found) (line ? events.editor : editor).goTo(found);
}

// Files and keys
function listen() {
  $("run").onclick = runIt;
  $("step").onclick = (event) => step(event.shiftKey);
  $("reset").onclick = () => { if (state.watching) return; run.reset(); expressions.forget(); state.ran = 0; marks.reset(); begin(); timeline.redraw(); paintState(); paintEmpty(); };
  $("share").onclick = share;
  $("samples").onclick = () => paintWelcome($("welcome").hidden);
  const gave = () => { listEngines(state.watching); check(); };
  $("token").onclick = () => askToken(gave);
  $("help").onclick = showKeys;
  $("fit").onclick = () => { timeline.live = false; timeline.fit(); };
  $("zoom-in").onclick = () => timeline.zoom(0.6);
  $("zoom-out").onclick = () => timeline.zoom(1 / 0.6);
  $("live").onclick = () => { timeline.live = !timeline.live; timeline.fitted = false; timeline.grown(); };
  $("policy").onchange = () => { keep(); if (marks.count) stale(); };
  $("engine").onfocus = () => listEngines(state.watching);
  $("engine").onchange = (event) => { const name = event.target.value; if (name) watch(name); else { unwatch(); open(kept.get("session", { program: "" })); } };
  $("copy-to-try").onclick = () => { const program = editor.value; open({ program, language: state.language, events: "" }); note("A copy to try; the engine runs on"); };
  for (const button of $("phone").querySelectorAll("button")) button.onclick = () => { showPane(button.dataset.pane); if (["program", "events", "expressions"].includes(button.dataset.pane)) showInput(button.dataset.pane); };
  clear($("language"), Object.entries(LANGUAGES).map(([language, label]) => el("button", { type: "button", role: "radio", "data-language": language, onclick: () => setLanguage(language) }, label)));
  $("language").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key], all = [...$("language").children];
    if (by) { const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length]; next.focus(); setLanguage(next.dataset.language); }
  });
  clear($("policy"), el("option", { value: "" }, "default"), POLICIES.map((each) => el("option", { value: each }, each)));
  window.addEventListener("keydown", (event) => {
    const typing = /^(TEXTAREA|INPUT|SELECT)$/.test(event.target.tagName);
    if (event.key === "?" && !typing) { event.preventDefault(); showKeys(); } else if (event.key === "Escape" && !$("dialog").open && !typing) {
      if (!$("welcome").hidden && editor.value.trim()) paintWelcome(false);
      else if (timeline.chosen !== null || timeline.ghost || document.querySelector(".lit, .box.chosen")) { timeline.ghost = null; choose(null); }
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !typing) { event.preventDefault(); runIt(); }
  });
  dropZone(openFile);
  window.addEventListener("hashchange", openHash);
  window.addEventListener("etalis:back", () => { check(); listEngines(state.watching); });
  window.addEventListener("etalis:token", () => { if (!$("dialog").open) askToken(gave); });
  window.addEventListener("beforeunload", () => run.reset());
  events.onFile = openFile;
  setInterval(() => { if (run.running) refreshPlan(); }, 1000);
  setInterval(() => { if (run.running) say(`${plural(marks.count, "event")} so far`); }, 5000);
}

async function begins() {
  listen();
  divider($("divide-x"), "--left", { least: 20, most: 70, initial: 38, along: "x" });
  divider($("divide-y"), "--upper", { least: 15, most: 85, initial: 54, along: "y" });
  themes($("theme"), () => requestAnimationFrame(() => timeline.dress()));
  showPane(kept.get("pane", "program"));
  setLanguage("rules", false);
  paintState();
  paintEmpty();
  const query = new URLSearchParams(location.search), engine = query.get("engine");
  call("GET", "/language.json").then((words) => { learn(words); editor.paint(); }).catch(() => {});
  listEngines(engine);
  if (engine) watch(engine, query.has("from") ? [Number(query.get("from")), Number(query.get("to"))] : null);
  else if (!(await openHash())) {
    const before = kept.get("session", null), sample = query.get("sample");
    if (sample) { const found = (await samples().catch(() => [])).find((each) => each.id === sample); if (found) open(found); } else if (before?.program?.trim()) open(before);
    paintWelcome();
  }
  document.body.classList.add("ready");
}

begins();
window.etalis = { ...page, open }; // for the console, and for tests
