// What the page says of its state: problems and counts, buttons, empty places, the samples.
import { $, clear, el, icon, note, plural } from "./dom.js";
import { page } from "./page.js";
import { showPane } from "./panes.js";
import { start } from "./running.js";
import { open } from "./sessions.js";
import { durationText } from "./times.js";
import { welcome } from "./welcome.js";

/** What is shown is of the program before. */
export function stale() {
  page.state.stale = true;
  $("stale").hidden = false;
  document.body.classList.add("stale");
  page.timeline.before = true;
  page.timeline.redraw();
}

export function paintStatus() {
  const errors = page.editor.problems.filter((problem) => problem.severity !== "warning").length, warnings = page.editor.problems.length - errors;
  const place = $("status-problems");
  clear(place, el("button", { type: "button", class: "plain", title: "Next problem (F8)", onclick: () => { page.showInput("program"); page.editor.next(1); } },
    el("span", { class: errors ? "error" : "" }, icon("error"), String(errors), el("span", { class: "away" }, " errors, ")),
    el("span", { class: warnings ? "warning" : "" }, icon("warning"), String(warnings), el("span", { class: "away" }, " warnings: go to the next"))));
  const ready = page.events.read.rows.length, left = page.run.engine && !page.state.watching && page.run.sent < ready && !page.run.running;
  $("status-events").textContent = page.events.table ? page.events.table.name : left && page.run.sent ? `${page.run.sent.toLocaleString("en")} of ${plural(ready, "event")} sent` : `${plural(ready, "event")} ready`;
}

export function paintState() {
  const button = $("run"), active = page.run.running && !page.state.watching;
  button.querySelector("use").setAttribute("href", active ? "#i-stop" : "#i-run");
  button.querySelector("span").textContent = active ? "Stop" : "Run";
  for (const each of [button, $("step"), $("reset"), $("policy"), ...$("language").children]) each.disabled = Boolean(page.state.watching);
  $("live").classList.toggle("on", Boolean(page.state.watching && page.run.running));
  paintStatus();
}

export function paintRange() {
  const { first, last } = page.timeline.view;
  $("range").textContent = page.marks.count ? `${plural(page.timeline.visible, "event")} in ${durationText(Number((last - first).toPrecision(3)), 2)}` : "";
  $("live").setAttribute("aria-pressed", String(page.timeline.live));
}

export function paintEmpty() {
  const none = $("no-events"), ready = page.events.read.rows.length;
  none.hidden = page.marks.count > 0;
  if (!page.marks.count) {
    clear(none, page.state.watching ? el("p", {}, "Nothing has happened here yet. What comes will show up by itself.")
      : ready || page.events.table ? el("p", {}, el("button", { type: "button", class: "main", onclick: () => start() }, icon("run"), "Run"), ` ${ready ? plural(ready, "event") : page.events.table.name} through the program`)
        : el("p", {}, "No events yet. Drop a file, write some in ", el("button", { type: "button", class: "link", onclick: () => { showPane("events"); page.showInput("events"); page.events.editor.area.focus(); } }, "Events"), ", or ", el("button", { type: "button", class: "link", onclick: () => useTwenty() }, "use these 20"), "."));
  }
  if (!page.matches.rows.length) {
    const derived = page.state.kinds.find((kind) => kind.role === "derived");
    clear(page.matches.empty, page.run.engine && !page.run.running && page.run.sent && !page.state.stale
      ? [el("p", {}, page.run.sent < page.events.read.rows.length ? "Nothing was detected so far." : "Nothing was detected."), derived && el("p", {}, el("button", { type: "button", class: "main", onclick: () => page.askWhyNot(`${derived.name}/${derived.arity}`, null, null) }, `Why not ${derived.name}?`))]
      : el("p", {}, "What the program detects shows up here."));
  }
}

/** Twenty events of the declared kinds, so that there is something to begin with. */
function useTwenty() {
  const kinds = page.state.kinds.filter((kind) => kind.role !== "derived");
  if (!kinds.length) return note("Write a rule first: its patterns say which events there are");
  const lines = Array.from({ length: 20 }, (_, i) => {
    const kind = kinds[i % kinds.length];
    const values = Array.from({ length: kind.arity }, (_, n) => [kind.attributes?.[n] ?? `a${n + 1}`, n === 0 ? (/int|float/.test(kind.types?.[0]) ? 1 + (Math.floor(i / kinds.length) % 3) : `c${1 + (Math.floor(i / kinds.length) % 3)}`) : /string|term/.test(kind.types?.[n]) ? "uvwxy"[(i * (n + 1)) % 5] : (i * 7 + n * 3) % 20]);
    return JSON.stringify({ event: kind.name, at: i * 10, ...Object.fromEntries(values) });
  });
  page.events.fill(lines.join("\n") + "\n");
  return start();
}

let welcomed = null; // not yet decided
/** Show the samples, or what they hide; without a word where there is nothing else. */
export function paintWelcome(wanted = !page.editor.value.trim() && !page.state.watching && !page.marks.count) {
  if (wanted === welcomed) return;
  welcomed = wanted;
  $("welcome").hidden = !wanted;
  document.body.classList.toggle("welcomed", wanted);
  if (wanted) welcome($("welcome"), { open: (sample) => { open(sample); if (matchMedia("(max-width: 799px)").matches) showPane("time"); start(); }, close: page.editor.value.trim() || page.marks.count ? () => paintWelcome(false) : null });
}
