// Dialogs (link, token, keys) and files that are dropped anywhere on the page.
import { hasToken, setToken } from "./api.js";
import { $, clear, copy, el, icon, note } from "./dom.js";

const KEYS = [
  ["Ctrl + Enter", "run"], ["F8, Shift + F8", "next problem, the one before"], ["← →", "event of the lane, on the time line"], ["↑ ↓", "lane; row of the table"],
  ["+ − 0", "zoom in, out, show all"], ["Shift + ← →", "move in time"], ["Alt + ↑ ↓", "move the lane"], ["Enter", "why, or why not"], ["Esc", "choose nothing"], ["?", "these keys"],
];

export function dialog(title, ...content) {
  const box = $("dialog");
  clear(box, el("header", {}, el("h2", { id: "dialog-title" }, title), el("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => box.close() }, icon("close"))), content);
  if (!box.open) box.showModal();
}

export function showKeys() {
  dialog("Keys", el("dl", { class: "keys" }, KEYS.map(([keys, text]) => [el("dt", {}, el("kbd", {}, keys)), el("dd", {}, text)])));
}

export function askToken(onGiven) {
  const field = el("input", { type: "password", autocomplete: "off", "aria-label": "Token", placeholder: "token" });
  const use = (event) => { event.preventDefault(); setToken(field.value.trim()); $("dialog").close(); onGiven(); };
  dialog("Token", el("p", {}, "A service with tokens wants one for each request. It is kept in this tab only, and sent in a header."),
    el("form", { class: "asking", onsubmit: use }, field, el("button", { type: "submit", class: "main" }, hasToken() ? "Replace" : "Use"),
      hasToken() && el("button", { type: "button", onclick: () => { setToken(null); $("dialog").close(); } }, "Forget")));
}

export function showLink(text, watching) {
  const field = el("input", { readonly: "", value: text, "aria-label": "Link", onfocus: () => field.select() });
  dialog("Share", el("p", {}, watching ? "Who opens this link watches the same engine, with a token of their own."
    : "The link holds program, events and what you see. All of it stands behind #, which no server gets. It opens without being run."), field,
  el("button", { type: "button", class: "main", onclick: async () => note((await copy(text)) ? "Link copied" : "Select the link and copy it") }, icon("copy"), "Copy"));
  field.select();
}

/** Call `onFile` with a file that is dropped on the page. */
export function dropZone(onFile) {
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  let over = 0;
  const leave = (to) => { over = to; $("drop").hidden = !over; };
  window.addEventListener("dragenter", (event) => { if (isFile(event)) leave(over + 1); });
  window.addEventListener("dragleave", (event) => { if (isFile(event)) leave(Math.max(over - 1, 0)); });
  window.addEventListener("dragover", (event) => { if (isFile(event)) event.preventDefault(); });
  window.addEventListener("drop", (event) => {
    leave(0);
    const file = event.dataTransfer?.files[0];
    if (file) { event.preventDefault(); onFile(file); }
  });
}
