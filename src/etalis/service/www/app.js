// The page: what the parts do together. A session is a program, its events and a policy; running it is a scratch engine of
// the service; an engine that lives on is watched.
import { Away, Refused, call, hasToken, setToken } from "./api.js";
import { $, clear, debounce, download, el, icon, kept, note, plural, say } from "./dom.js";
import { Editor, learn } from "./editor.js";
import { Events } from "./events.js";
import { Expressions } from "./expressions.js";
import { Inspector } from "./inspector.js";
import { Lanes } from "./lanes.js";
import { Marks } from "./marks.js";
import { Matches } from "./matches.js";
import { divider, showPane, tabs, themes } from "./panes.js";
import { Plan } from "./plan.js";
import { Run } from "./run.js";
import { address, fileOf, sessionOf, unpack } from "./share.js";
import { Timeline } from "./timeline.js";
import { durationText, spanText } from "./times.js";
import { samples, welcome } from "./welcome.js";

const LANGUAGES = { rules: "Rules", "ep-sparql": "EP-SPARQL", "snoop-r": "SNOOP-R" };
const POLICIES = ["recent", "unrestricted", "chronological", "continuous", "cumulative", "snoop_recent"];
const state = { language: "rules", name: null, kinds: [], rules: [], checked: 0, watching: null, stale: false, back: [], opened: false };

const marks = new Marks();
const timeline = new Timeline($("canvas"), marks);
const dates = () => timeline.dates;
const run = new Run(marks, {
  started: () => { timeline.dates = run.setting ? events.read.dates : timeline.dates; },
  records: (records) => { if (state.watching && records.some((each) => each.end > 1e8)) timeline.dates = true; matches.add(records); timeline.grown(); paintEmpty(); },
  refused: (rows) => events.refuse(rows),
  progress: (done, all) => { $("run").querySelector("span").textContent = `Stop · ${Math.floor((100 * done) / all)} %`; },
  state: () => paintState(),
  trouble: (text) => note(text),
});

const runIt = () => start(false);
const editor = new Editor($("program"), { label: "Program", placeholder: "fraud(Card) <-\n    (use(Card, A) seq use(Card, B))\n    within 10 min where A \\= B.", onRun: runIt, onChange: () => changed() });
const events = new Events($("panel-events"), { onChange: () => eventsChanged(), onRun: runIt, onSend: (row) => sendOne(row), kinds: () => state.kinds });
const expressions = new Expressions($("panel-expressions"), { onNote: note, showResults: (records) => showRecords(records) });
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

function showResult(name, focus = false) {
  showTab(name);
  if (matchMedia("(max-width: 799px)").matches && name === "why") showPane("results");
  if (focus) $("panel-" + name).focus?.();
}

// What is written
const session = () => ({ name: state.name, language: state.language, program: editor.value, events: events.text, policy: $("policy").value, chosen: timeline.chosen !== null && marks.has(timeline.chosen) ? marks.record(timeline.chosen).number : null, range: timeline.fitted ? null : [timeline.view.first, timeline.view.last] });

function changed() {
  keep();
  if (marks.count) stale();
  check();
  paintWelcome();
}

function stale() {
  state.stale = true;
  $("stale").hidden = false;
  document.body.classList.add("stale");
  timeline.before = true;
  timeline.redraw();
}

function eventsChanged() {
  keep();
  paintStatus();
  paintEmpty();
}

const keep = debounce(500, () => {
  if (state.watching) return;
  const now = session();
  if (now.events.length < 300_000) kept.set("session", { ...now, chosen: null, range: null });
});

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

function paintStatus() {
  const errors = editor.problems.filter((problem) => problem.severity !== "warning").length, warnings = editor.problems.length - errors;
  const place = $("status-problems");
  clear(place, el("button", { type: "button", class: `plain ${errors ? "error" : ""}`, title: "Next problem (F8)", "aria-label": `${plural(errors, "error")}, ${plural(warnings, "warning")}: go to the next`, onclick: () => { showInput("program"); editor.next(1); } },
    icon("error"), String(errors), icon("warning"), String(warnings)));
  const ready = events.read.rows.length, left = run.engine && !state.watching && run.sent < ready && !run.running;
  $("status-events").textContent = events.table ? events.table.name : left && run.sent ? `${run.sent.toLocaleString("en")} of ${plural(ready, "event")} sent` : `${plural(ready, "event")} ready`;
}

// Running
async function start(stepping) {
  if (run.running && !state.watching) return run.stop();
  if (state.watching) return null;
  if (state.language === "snoop-r") return expressions.run(editor.value, events.read, { begin: () => begin(), done: finish });
  if (!editor.value.trim()) { showInput("program"); editor.area.focus(); return note("Write a program first, or take a sample"); }
  const before = state.ran ? matches.rows : [];
  const began = performance.now();
  begin();
  try {
    await run.start({ program: editor.value, language: state.language, policy: $("policy").value || null });
    state.checked++;
    if (stepping) return run;
    await run.run(events.read, { close: $("close-after").checked, table: events.table });
    finish(before, began);
  } catch (error) {
    troubled(error);
  }
  return null;
}

/** Clear what the run before has shown. */
function begin() {
  state.stale = false;
  $("stale").hidden = true;
  document.body.classList.remove("stale");
  timeline.before = false;
  choose(null, false);
  state.back = [];
  marks.clear();
  matches.clear();
  inspector.clear();
  events.refused = [];
  events.mark();
  events.light(0);
  timeline.fitted = true;
  timeline.dates = events.read.dates;
  plan.clear();
  paintEmpty();
  $("outcome").textContent = "";
}

function finish(before = [], began = 0) {
  if (before.length) matches.compare(before);
  state.ran = true;
  const found = marks.lanes.filter((lane) => lane.derived).reduce((sum, lane) => sum + lane.total, 0);
  const text = `${plural(run.sent || run.taken || marks.count - found, "event")}, ${plural(found, "match", "matches")}${run.late ? `, ${run.late} late` : ""}`;
  $("outcome").textContent = text + (began ? ` · ${durationText(Math.round(performance.now() - began) / 1000)}` : "");
  say(text);
  matches.later();
  paintEmpty();
  refreshPlan();
  if (state.wanted) applyWanted();
}

function troubled(error) {
  if (error.name === "AbortError") return;
  if (error instanceof Refused && error.problems.some((problem) => problem.line)) { editor.show(error.problems); showInput("program"); paintStatus(); }
  note(error.message + (error.hint ? ` — ${error.hint}` : ""));
}

async function step(many) {
  if (run.running || state.watching) return;
  if (state.language === "snoop-r") return note("Expressions are run as a whole");
  const { read } = events;
  if (!run.engine || state.stale || run.closed) {
    if (!(await start(true))) return;
  }
  const rows = read.rows.slice(run.sent, run.sent + (many ? 10 : 1));
  try {
    const found = rows.length ? await run.send(read, rows) : await run.close();
    const last = rows.at(-1);
    if (last) events.light(last.line);
    const id = run.inputs.at(-1);
    if (last && id !== undefined) { timeline.chosen = id; timeline.parts = []; timeline.reveal(id); }
    const caused = found.map((record) => record.text).join(", ");
    $("outcome").textContent = last ? `${events.label(last)} → ${caused || "nothing yet"}` : `the stream has ended → ${caused || "nothing more"}`;
    say($("outcome").textContent);
    if (found.length) choose(found.at(-1).id, false);
    paintStatus();
    paintState();
    await refreshPlan();
    if (!found.length && last) await showWaiting();
  } catch (error) {
    troubled(error);
  }
}

/** What has begun and waits, after a step that caused nothing. */
async function showWaiting() {
  const rows = (await run.partial()).partial ?? [];
  if (!rows.length) return;
  clear($("panel-why"), el("h4", {}, "Waiting now"), el("ul", { class: "waits" }, rows.slice(0, 50).map((row) => el("li", {},
    el("code", {}, (row.present ?? []).join(", ")), " wants ", el("code", {}, [...(row.awaited ?? []), ...(row.open ?? [])].join(", ")), el("small", {}, ` rule ${row.rule}${row.until !== null && row.until !== undefined ? `, until ${spanText(row.until, row.until, dates())}` : ""}`)))));
}

async function sendOne(row) {
  try {
    const answer = await call("POST", `${run.path}/events`, JSON.stringify(row) + "\n", { type: "application/x-ndjson" });
    note(answer.rejected?.length ? answer.rejected[0].message : `Sent: ${plural(answer.matches?.length ?? 0, "match", "matches")}`);
  } catch (error) { troubled(error); }
}

let planning = false;
async function refreshPlan() {
  if (!run.engine || planning || $("panel-plan").hidden) return;
  planning = true;
  try { plan.show(await run.plan()); } catch (error) { if (!(error instanceof Away)) plan.clear(); }
  planning = false;
}
setInterval(() => { if (run.running) refreshPlan(); }, 1000);

async function showNode(node, place) {
  place.hidden = false;
  clear(place, el("h4", {}, node.label), node.rule && el("p", {}, el("button", { type: "button", class: "link", onclick: () => goToRule(node.rule) }, `rule ${node.rule}`)));
  const rows = ((await run.partial().catch(() => null))?.partial ?? []).filter((row) => !node.rule || String(row.rule) === String(node.rule));
  place.append(rows.length ? el("ul", { class: "waits" }, rows.slice(0, 20).map((row) => el("li", {}, el("code", {}, (row.present ?? []).join(", ")), " wants ", el("code", {}, (row.awaited ?? []).join(", "))))) : el("p", { class: "quiet" }, "Nothing waits here."));
  plan.light(node.rule ?? null);
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
  if (record) {
    timeline.parts = record.parts ?? [];
    inspector.show(record);
    if (record.derived && !$("panel-plan").hidden === false && window.innerWidth >= 800 && document.activeElement === timeline.canvas) showTab("why");
    say(`${record.text}, ${spanText(record.start, record.end, dates())}`);
    if (remember) history.pushState({ chosen: id }, "");
  } else inspector.idle();
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
  const found = line ?? state.rules.find((each) => String(each.id) === String(rule))?.line;
  if (matchMedia("(max-width: 799px)").matches) showPane(line ? "events" : "program");
  showInput(line ? "events" : "program");
  if (found) (line ? events.editor : editor).goTo(found);
}

/** Records of expressions, which have no engine of their own here. */
function showRecords(records) {
  for (const record of records) record.id = marks.add(marks.lane(record.kind, record.derived), record.start, record.end, record);
  matches.add(records.filter((record) => record.derived));
  timeline.grown();
  paintEmpty();
}

// What is seen
function paintState() {
  const button = $("run"), active = run.running && !state.watching;
  button.querySelector("use").setAttribute("href", active ? "#i-stop" : "#i-run");
  button.querySelector("span").textContent = active ? "Stop" : "Run";
  button.disabled = $("step").disabled = Boolean(state.watching);
  $("live").classList.toggle("on", Boolean(state.watching && run.running));
  paintStatus();
}

function paintRange() {
  const { first, last } = timeline.view;
  $("range").textContent = marks.count ? `${plural(timeline.visible, "event")} in ${durationText(Number((last - first).toPrecision(3)), 2)}` : "";
  $("live").setAttribute("aria-pressed", String(timeline.live));
}

function paintEmpty() {
  const none = $("no-events"), ready = events.read.rows.length;
  none.hidden = marks.count > 0;
  if (!marks.count) {
    clear(none, state.watching ? el("p", {}, "Nothing has happened here yet. What comes will show up by itself.")
      : ready || events.table ? el("p", {}, el("button", { type: "button", class: "main", onclick: runIt }, icon("run"), "Run"), ` ${ready ? plural(ready, "event") : events.table.name} through the program`)
        : el("p", {}, "No events yet. Drop a file, write some in ", el("button", { type: "button", class: "link", onclick: () => { showPane("events"); showInput("events"); events.editor.area.focus(); } }, "Events"), ", or ", el("button", { type: "button", class: "link", onclick: () => useTwenty() }, "use these 20"), "."));
  }
  if (!matches.rows.length) {
    const derived = state.kinds.find((kind) => kind.role === "derived");
    clear(matches.empty, run.engine && !run.running && run.sent && !state.stale
      ? [el("p", {}, "Nothing was detected."), derived && el("p", {}, el("button", { type: "button", class: "main", onclick: () => askWhyNot(`${derived.name}/${derived.arity}`, null, null) }, `Why not ${derived.name}?`))]
      : el("p", {}, "Matches stand here, as soon as there are some."));
  }
}

/** Twenty events of the declared kinds, so that there is something to begin with. */
function useTwenty() {
  const kinds = state.kinds.filter((kind) => kind.role !== "derived");
  if (!kinds.length) return note("Write a rule first: its patterns say which events there are");
  const lines = Array.from({ length: 20 }, (_, i) => {
    const kind = kinds[i % kinds.length];
    const values = Array.from({ length: kind.arity }, (_, n) => [kind.attributes?.[n] ?? `a${n + 1}`, n === 0 ? (/int|float/.test(kind.types?.[0]) ? 1 + (Math.floor(i / kinds.length) % 3) : `c${1 + (Math.floor(i / kinds.length) % 3)}`) : /string|term/.test(kind.types?.[n]) ? "uvwxy"[(i * (n + 1)) % 5] : (i * 7 + n * 3) % 20]);
    return JSON.stringify({ event: kind.name, at: i * 10, ...Object.fromEntries(values) });
  });
  events.fill(lines.join("\n") + "\n");
  return runIt();
}

let welcomed = null;
function paintWelcome(wanted = !editor.value.trim() && !state.watching && !marks.count) {
  if (wanted === welcomed) return;
  welcomed = wanted;
  $("welcome").hidden = !wanted;
  document.body.classList.toggle("welcomed", wanted);
  if (wanted) welcome($("welcome"), { open: (sample) => { open(sample); runIt(); }, close: editor.value.trim() || marks.count ? () => paintWelcome(false) : null });
}

// Sessions
function open(given) {
  unwatch();
  state.name = given.title ?? given.name ?? null;
  setLanguage(given.language ?? "rules", false);
  $("policy").value = given.policy ?? "";
  run.reset();
  state.ran = false;
  marks.reset();
  begin();
  editor.value = given.program ?? "";
  events.fill(given.events ?? "");
  $("opened").hidden = true;
  if (given.background) expressions.background = given.background;
  check();
  keep();
  paintWelcome(false);
  timeline.redraw();
  document.title = state.name ? `${state.name} · etalis` : "etalis";
}

/** A session that somebody has shared is opened without being run. */
function openShared(given) {
  open(given);
  state.wanted = given.range || given.chosen !== null ? { range: given.range, chosen: given.chosen } : null;
  const line = $("opened");
  line.hidden = false;
  clear(line, el("span", {}, `${given.name ? `“${given.name}”` : "A session"} was shared with you: ${plural(events.read.rows.length, "event")}. It has not been run.`), " ", el("button", { type: "button", class: "main", onclick: () => { line.hidden = true; runIt(); } }, "Run it"), el("button", { type: "button", onclick: () => { line.hidden = true; } }, "Not now"));
}

function applyWanted() {
  const { range, chosen } = state.wanted;
  state.wanted = null;
  $("opened").hidden = true;
  if (range) timeline.move(...range);
  const id = run.numbers.get(chosen);
  if (id !== undefined) choose(id, false);
}

function setLanguage(language, recheck = true) {
  state.language = LANGUAGES[language] ? language : "rules";
  editor.language = state.language;
  for (const button of $("language").children) { const is = button.dataset.language === state.language; button.setAttribute("aria-checked", String(is)); button.tabIndex = is ? 0 : -1; }
  expressions.beside($("program"), state.language === "snoop-r");
  editor.paint();
  if (recheck) changed();
}

async function share() {
  if (state.watching) {
    const text = `${location.origin}/?engine=${encodeURIComponent(state.watching)}&from=${timeline.view.first}&to=${timeline.view.last}`;
    history.replaceState(null, "", text);
    return shared(text);
  }
  const text = await address(session());
  if (!text) {
    download(`${(state.name ?? "session").toLowerCase().replace(/\W+/g, "-")}.etalis.json`, fileOf(session()), "application/json");
    return note("Too long for a link: saved as a file. It is opened by dropping it on the page.");
  }
  return shared(text);
}

function shared(text) {
  const field = el("input", { readonly: "", value: text, "aria-label": "Link to this session", onfocus: () => field.select() });
  dialog("Share", el("p", {}, state.watching ? "Who opens this link watches the same engine, with a token of their own." : "The link holds program, events and what you see. It stays behind #: no server gets it. It opens without being run."), field,
    el("button", { type: "button", class: "main", onclick: async () => { const { copy } = await import("./dom.js"); note((await copy(text)) ? "Link copied" : "Select the link and copy it"); } }, icon("copy"), "Copy"));
  field.select();
}

// Watching
async function watch(name, range = null) {
  state.watching = name;
  begin();
  run.reset();
  timeline.live = true;
  events.sending = true;
  events.formKey = "";
  document.body.classList.add("watching");
  editor.readOnly = true;
  $("copy-to-try").hidden = false;
  paintState();
  paintWelcome(false);
  try {
    const told = await call("GET", `/engines/${encodeURIComponent(name)}`);
    if (told.program !== undefined) { editor.value = told.program; setLanguage(told.language ?? "rules", false); check(); }
    if (told.policy) $("policy").value = told.policy;
    if (range) { timeline.live = false; timeline.fitted = false; timeline.view = { first: range[0], last: range[1] }; }
    await run.watch(name);
    note(`The engine ${name} has ended`);
  } catch (error) {
    if (error.name === "AbortError") return;
    troubled(error);
    unwatch();
  }
}

function unwatch() {
  if (!state.watching) return;
  state.watching = null;
  run.reset();
  marks.reset();
  $("engine").value = "";
  timeline.live = events.sending = false;
  events.formKey = "";
  editor.readOnly = false;
  $("copy-to-try").hidden = true;
  document.body.classList.remove("watching");
  paintState();
}

async function listEngines() {
  const found = (await call("GET", "/engines").catch(() => ({ engines: [] }))).engines.filter((each) => !each.scratch);
  clear($("engine"), el("option", { value: "" }, "Try"), found.length > 0 && el("optgroup", { label: "Watch" }, found.map((each) => el("option", { value: each.name }, each.name))));
  $("engine").value = state.watching ?? "";
}

// Dialogs, files, keys
function dialog(title, ...content) {
  const box = $("dialog");
  clear(box, el("header", {}, el("h2", { id: "dialog-title" }, title), el("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => box.close() }, icon("close"))), content);
  if (!box.open) box.showModal();
}

function askToken() {
  const field = el("input", { type: "password", autocomplete: "off", "aria-label": "Token", placeholder: "token" });
  dialog("Token", el("p", {}, "A service with tokens wants one for each request. It is kept in this tab only, and sent in a header."), el("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); setToken(field.value.trim()); $("dialog").close(); listEngines(); check(); } }, field, el("button", { type: "submit", class: "main" }, hasToken() ? "Replace" : "Use"), hasToken() && el("button", { type: "button", onclick: () => { setToken(null); $("dialog").close(); } }, "Forget")));
}

function showKeys() {
  const rows = [["Ctrl + Enter", "run"], ["F8, Shift + F8", "next problem, the one before"], ["← →", "event of the lane, on the time line"], ["↑ ↓", "lane; row of the table"], ["+ − 0", "zoom in, out, show all"], ["Shift + ← →", "move in time"], ["Alt + ↑ ↓", "move the lane"], ["Enter", "why, or why not"], ["Esc", "choose nothing"], ["?", "these keys"]];
  dialog("Keys", el("dl", { class: "keys" }, rows.map(([keys, text]) => [el("dt", {}, el("kbd", {}, keys)), el("dd", {}, text)])));
}

async function openFile(file) {
  if (file.size > 16 * 2 ** 20) return note(`${file.name} has more than 16 MB; send it with etalis send`);
  if (/\.parquet$/i.test(file.name)) { events.fillTable(await file.arrayBuffer(), file.name); paintWelcome(false); showInput("events"); return null; }
  const text = await file.text(), found = /\.json$/i.test(file.name) ? sessionOf(text) : null;
  if (found) return openShared(found);
  if (/\.(etalis|pl|rq|epsparql)$/i.test(file.name)) { setLanguage(/\.(rq|epsparql)$/i.test(file.name) ? "ep-sparql" : "rules", false); editor.value = text; changed(); showInput("program"); return null; }
  events.fill(text, file.name);
  if (marks.count) stale();
  paintWelcome(false);
  showInput("events");
  return note(`${file.name}: ${plural(events.read.rows.length, "event")}${events.read.bad.length ? `, ${plural(events.read.bad.length, "row")} refused` : ""}`);
}

function listen() {
  $("run").onclick = runIt;
  $("step").onclick = (event) => step(event.shiftKey);
  $("reset").onclick = () => { if (state.watching) return; run.reset(); state.ran = false; marks.reset(); begin(); timeline.redraw(); paintState(); paintEmpty(); };
  $("share").onclick = share;
  $("samples").onclick = () => { welcomed = null; paintWelcome($("welcome").hidden); };
  $("token").onclick = askToken;
  $("help").onclick = showKeys;
  $("fit").onclick = () => { timeline.live = false; timeline.fit(); };
  $("zoom-in").onclick = () => timeline.zoom(0.6);
  $("zoom-out").onclick = () => timeline.zoom(1 / 0.6);
  $("live").onclick = () => { timeline.live = !timeline.live; timeline.fitted = false; timeline.grown(); };
  $("policy").onchange = () => { keep(); if (marks.count) stale(); };
  $("engine").onfocus = listEngines;
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
      else if (timeline.chosen !== null || timeline.ghost) { timeline.ghost = null; choose(null); }
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !typing) { event.preventDefault(); runIt(); }
  });
  let over = 0;
  window.addEventListener("dragenter", (event) => { if (event.dataTransfer?.types.includes("Files")) { over++; $("drop").hidden = false; } });
  window.addEventListener("dragleave", () => { over = Math.max(over - 1, 0); if (!over) $("drop").hidden = true; });
  window.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
  window.addEventListener("drop", (event) => { over = 0; $("drop").hidden = true; const file = event.dataTransfer?.files[0]; if (file) { event.preventDefault(); openFile(file); } });
  window.addEventListener("hashchange", openHash);
  window.addEventListener("etalis:back", () => { check(); listEngines(); });
  window.addEventListener("etalis:token", () => { if (!$("dialog").open) askToken(); });
  window.addEventListener("beforeunload", () => run.reset());
  events.onFile = openFile;
  setInterval(() => { if (run.running) say(`${plural(marks.count, "event")} so far`); }, 5000);
}

async function openHash() {
  const text = location.hash.slice(1);
  if (!text) return false;
  const found = await unpack(text);
  history.replaceState(null, "", location.pathname);
  if (!found) { note("This link holds no session, or it was cut"); return false; }
  openShared(found);
  return true;
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
  listEngines();
  if (engine) watch(engine, query.has("from") ? [Number(query.get("from")), Number(query.get("to"))] : null);
  else if (!(await openHash())) {
    const before = kept.get("session", null), sample = query.get("sample");
    if (sample) { const found = (await samples().catch(() => [])).find((each) => each.id === sample); if (found) open(found); } else if (before?.program?.trim()) open(before);
    paintWelcome();
  }
  document.body.classList.add("ready");
}

begins();
// what tests ask
window.etalis = { marks, timeline, run, matches, events, editor, state, open, choose };
