// Sessions: what is written, kept in this browser, opened from files and links, and shared.
import { $, clear, debounce, download, el, kept, note, plural } from "./dom.js";
import { showLink } from "./dialogs.js";
import { page } from "./page.js";
import { begin, start, unwatch } from "./running.js";
import { paintWelcome, stale } from "./seen.js";
import { address, fileOf, sessionOf, unpack } from "./share.js";
import { linkTo } from "./watching.js";

export const LANGUAGES = { rules: "Rules", "ep-sparql": "EP-SPARQL", "snoop-r": "SNOOP-R" };

const session = () => ({ name: page.state.name, language: page.state.language, program: page.editor.value, background: page.background.value, events: page.events.text, policy: $("policy").value, chosen: page.timeline.chosen !== null && page.marks.has(page.timeline.chosen) ? page.marks.record(page.timeline.chosen).number : null, range: page.timeline.fitted ? null : [page.timeline.view.first, page.timeline.view.last] });

export const keep = debounce(500, () => {
  if (page.state.watching) return;
  const now = session();
  if (now.events.length < 300_000) kept.set("session", { ...now, chosen: null, range: null });
});

export function open(given) {
  unwatch();
  page.state.name = given.title ?? given.name ?? null;
  setLanguage(given.language ?? "rules", false);
  $("policy").value = given.policy ?? "";
  page.run.reset();
  page.expressions.forget();
  page.state.ran = 0;
  page.marks.reset();
  begin();
  page.editor.value = given.program ?? "";
  page.events.fill(given.events ?? "");
  $("opened").hidden = true;
  page.background.value = given.background ?? "";
  page.check();
  keep();
  paintWelcome(false);
  page.timeline.redraw();
  document.title = page.state.name ? `${page.state.name} · etalis` : "etalis";
}

/** A session that somebody has shared is opened without being run. */
export function openShared(given) {
  open(given);
  page.state.wanted = given.range || given.chosen !== null ? { range: given.range, chosen: given.chosen } : null;
  const line = $("opened");
  line.hidden = false;
  clear(line, el("span", {}, `${given.name ? `“${given.name}”` : "A session"} was shared with you: ${plural(page.events.read.rows.length, "event")}. It has not been run.`), " ", el("button", { type: "button", class: "main", onclick: () => { line.hidden = true; start(); } }, "Run it"), el("button", { type: "button", onclick: () => { line.hidden = true; } }, "Not now"));
}

export function applyWanted() {
  const { range, chosen } = page.state.wanted;
  page.state.wanted = null;
  $("opened").hidden = true;
  if (range) page.timeline.move(...range);
  const id = page.run.numbers.get(chosen);
  if (id !== undefined) page.choose(id, false);
}

export function setLanguage(language, recheck = true) {
  page.state.language = LANGUAGES[language] ? language : "rules";
  page.editor.language = page.state.language;
  for (const button of $("language").children) { const is = button.dataset.language === page.state.language; button.setAttribute("aria-checked", String(is)); button.tabIndex = is ? 0 : -1; }
  page.expressions.beside($("program"), page.state.language === "snoop-r");
  page.background.beside(page.state.language === "ep-sparql");
  page.editor.paint();
  if (recheck) page.changed();
}

export async function share() {
  if (page.state.watching) {
    const text = linkTo(page.state.watching, page.timeline.view);
    history.replaceState(null, "", text);
    return showLink(text, true);
  }
  const text = await address(session());
  if (!text) {
    download(`${(page.state.name ?? "session").toLowerCase().replace(/\W+/g, "-")}.etalis.json`, fileOf(session()), "application/json");
    return note("Too long for a link: saved as a file. It is opened by dropping it on the page.");
  }
  return showLink(text, false);
}

export async function openFile(file) {
  if (file.size > 16 * 2 ** 20) return note(`${file.name} has more than 16 MB; send it with etalis send`);
  if (/\.parquet$/i.test(file.name)) { page.events.fillTable(await file.arrayBuffer(), file.name); paintWelcome(false); page.showInput("events"); return null; }
  const text = await file.text(), found = /\.json$/i.test(file.name) ? sessionOf(text) : null;
  if (found) return openShared(found);
  if (/\.(etalis|pl|rq|epsparql)$/i.test(file.name)) { setLanguage(/\.(rq|epsparql)$/i.test(file.name) ? "ep-sparql" : "rules", false); page.editor.value = text; page.changed(); page.showInput("program"); return null; }
  if (/\.(ttl|nt)$/i.test(file.name)) { setLanguage("ep-sparql", false); page.background.value = text; page.changed(); page.showInput("program"); return null; }
  page.events.fill(text, file.name);
  if (page.marks.count) stale();
  paintWelcome(false);
  page.showInput("events");
  return note(page.events.table ? `${file.name} is read by the service when you run` : `${file.name}: ${plural(page.events.read.rows.length, "event")}${page.events.read.bad.length ? `, ${plural(page.events.read.bad.length, "row")} refused` : ""}`);
}

export async function openHash() {
  const text = location.hash.slice(1);
  if (!text) return false;
  const found = await unpack(text);
  history.replaceState(null, "", location.pathname);
  if (!found) { note("This link holds no session, or it was cut"); return false; }
  openShared(found);
  return true;
}
