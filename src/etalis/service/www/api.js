// Calls of the service: JSON in and out, problems as errors, streams of events by fetch, and what to do when it is away.
import { $, clear, el } from "./dom.js";
import { exactJson } from "./rows.js";

/** What the service refused: its problems have code, message, hint and place. */
export class Refused extends Error {
  constructor(status, body) {
    const first = body?.problems?.[0];
    super(first?.message ?? body?.detail ?? body?.title ?? `the service answered ${status}`);
    this.status = status;
    this.hint = first?.hint ?? null;
    this.code = first?.code ?? null;
    this.problems = body?.problems ?? [];
    this.body = body;
  }
}

/** The service could not be reached. */
export class Away extends Error {}

const TOKEN = "etalis.token"; // for this tab alone
const token = { value: null };
try { token.value = sessionStorage.getItem(TOKEN); } catch { /* without storage it is asked for again */ }
export function setToken(value) {
  token.value = value || null;
  try { if (value) sessionStorage.setItem(TOKEN, value); else sessionStorage.removeItem(TOKEN); } catch { /* as above */ }
}
export const hasToken = () => token.value !== null;

function headers(type) {
  return {
    ...(type ? { "Content-Type": type } : {}),
    ...(token.value ? { Authorization: `Bearer ${token.value}` } : {}),
  };
}

async function ask(method, path, body, type, signal, accept) {
  const options = { method, headers: { ...headers(type), Accept: accept }, signal, cache: "no-store", keepalive: method === "DELETE" }; // also when the page is left
  if (body !== undefined) options.body = body;
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.lost();
    throw new Away("the service cannot be reached");
  }
  connection.found();
  if (answer.status === 401) window.dispatchEvent(new Event("etalis:token"));
  return answer;
}

/** Call the service; a JSON body is an object, any other comes with its type. */
export async function call(method, path, body, { type = "application/json", signal, accept = "application/json" } = {}) {
  const sent = body === undefined || typeof body === "string" || body instanceof ArrayBuffer ? body : JSON.stringify(body);
  const answer = await ask(method, path, sent, body === undefined ? null : type, signal, accept);
  const isJson = /json/.test(answer.headers.get("Content-Type") ?? "");
  const found = answer.status === 204 ? null : isJson ? exactJson(await answer.text()) : await answer.text();
  if (!answer.ok) throw new Refused(answer.status, isJson ? found : { detail: found });
  return found;
}

/** Yield {id, event, data} of a stream of server-sent events until it ends or the signal says so. */
export async function* stream(path, signal) {
  const answer = await ask("GET", path, undefined, null, signal, "text/event-stream");
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => null));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value.replace(/\r\n?/g, "\n");
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const message = { id: null, event: "message", data: "" };
      for (const line of text.slice(0, end).split("\n")) {
        const [, field, content] = /^(\w+): ?(.*)$/.exec(line) ?? [];
        if (field === "data") message.data += (message.data ? "\n" : "") + content;
        else if (field) message[field] = content;
      }
      text = text.slice(end + 2);
      if (message.data) yield { ...message, data: exactJson(message.data) };
    }
  }
}

// One banner tells that the service is away; it asks again after 1, 2, 4, ... seconds, at most 30.
export const connection = {
  away: false,
  wait: 1,
  timer: 0,
  lost() {
    if (connection.away) return;
    connection.away = true;
    connection.wait = 1;
    document.body.classList.add("offline");
    connection.count(connection.wait);
  },
  found() {
    if (!connection.away) return;
    connection.away = false;
    clearTimeout(connection.timer);
    document.body.classList.remove("offline");
    $("banner").hidden = true;
    window.dispatchEvent(new Event("etalis:back"));
  },
  count(seconds) {
    const banner = $("banner");
    banner.hidden = false;
    clear(banner,
      el("span", {}, "No connection to the service. You can go on writing; nothing is lost. "),
      el("span", { "aria-hidden": "true" }, `Next try in ${seconds} s `),
      el("button", { type: "button", onclick: () => connection.retry() }, "Try now"));
    clearTimeout(connection.timer);
    connection.timer = setTimeout(() => (seconds > 1 ? connection.count(seconds - 1) : connection.retry()), 1000);
  },
  async retry() {
    clearTimeout(connection.timer);
    try {
      await fetch("/health", { cache: "no-store" });
      connection.found();
    } catch {
      connection.wait = Math.min(connection.wait * 2, 30);
      connection.count(connection.wait);
    }
  },
};
