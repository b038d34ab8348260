// Watching an engine that lives on: its program cannot be edited, what it takes and finds is followed.
import { call } from "./api.js";
import { $, clear, el } from "./dom.js";

/** List the engines that can be watched; scratch engines are of pages. */
export async function listEngines(chosen) {
  const found = (await call("GET", "/engines").catch(() => ({ engines: [] }))).engines.filter((each) => !each.scratch);
  clear($("engine"), el("option", { value: "" }, "Try"), found.length > 0 && el("optgroup", { label: "Watch" }, found.map((each) => el("option", { value: each.name }, each.name))));
  $("engine").value = chosen ?? "";
}

/** Turn the page's controls to watching, or back. */
export function lock(is, { editor, events, timeline }) {
  timeline.live = is;
  events.sending = is;
  events.formKey = "";
  editor.readOnly = events.editor.readOnly = is;
  events.editor.area.placeholder = is ? "What comes to the engine is on the time line.\nOne event can be sent to it below." : events.example;
  $("copy-to-try").hidden = !is;
  document.body.classList.toggle("watching", is);
}

/** What there is to see of an engine: its program and policy, if the service tells them. */
export const tellOf = (name) => call("GET", `/engines/${encodeURIComponent(name)}`);

export const linkTo = (name, { first, last }) => `${location.origin}/?engine=${encodeURIComponent(name)}&from=${first}&to=${last}`;
