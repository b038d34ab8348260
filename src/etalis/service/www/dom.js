// Elements, texts, storage and announcements. Texts only ever become text nodes.
export const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes by name, `on*` as listeners, children as nodes or texts. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** One of the symbols that the page defines. */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: "#i-" + name }));
}

export function clear(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return element;
}

/** Say something to screen readers, politely; `$("said")` is the page's one live region. */
export function say(text) {
  const region = $("said");
  if (region.textContent !== text) region.textContent = text;
}

let fading = 0;
/** Show a short note at the bottom of the page, and say it. */
export function note(text) {
  const toast = $("note");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { toast.hidden = true; }, 5000);
}

/** What the page keeps in this browser; without storage it forgets. */
export const kept = {
  get(name, otherwise) {
    try { return JSON.parse(localStorage.getItem("etalis." + name)) ?? otherwise; } catch { return otherwise; }
  },
  set(name, value) {
    try { localStorage.setItem("etalis." + name, JSON.stringify(value)); } catch { /* private windows have none */ }
  },
};

/** Call `later` once, when `wait` ms have passed since the last call. */
export function debounce(wait, later) {
  let timer = 0;
  return (...args) => { clearTimeout(timer); timer = setTimeout(later, wait, ...args); };
}

export const plural = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "away", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
