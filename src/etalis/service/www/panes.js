// Tabs, dividers that can be dragged and moved by keys, the five panes of a phone, the theme, and the list of keys.
import { $, kept } from "./dom.js";

/** Make a list of tabs work; returns a function that shows one by name. */
export function tabs(list, name, onShow = () => {}) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const show = (wanted, focus = false) => {
    const tab = all.find((each) => each.dataset.tab === wanted) ?? all[0];
    for (const each of all) {
      const is = each === tab;
      each.setAttribute("aria-selected", String(is));
      each.tabIndex = is ? 0 : -1;
      $(each.getAttribute("aria-controls")).hidden = !is;
    }
    if (focus) tab.focus();
    kept.set("tab." + name, tab.dataset.tab);
    onShow(tab.dataset.tab);
  };
  list.addEventListener("click", (event) => { const tab = event.target.closest("[role=tab]"); if (tab) show(tab.dataset.tab); });
  list.addEventListener("keydown", (event) => {
    const now = all.indexOf(document.activeElement), to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: all.length - 1 }[event.key];
    if (now < 0 || to === undefined) return;
    event.preventDefault();
    show(all[(to + all.length) % all.length].dataset.tab, true);
  });
  show(kept.get("tab." + name, all[0].dataset.tab));
  return show;
}

/** A divider sets a share of the room, in percent, as a property of the page's style. */
export function divider(bar, property, { least, most, initial, along }) {
  const area = $("panes");
  const set = (share) => {
    const now = Math.min(Math.max(share, least), most);
    area.style.setProperty(property, now + "%");
    bar.setAttribute("aria-valuenow", String(Math.round(now)));
    return now;
  };
  let now = set(kept.get(property, initial));
  const keep = (share) => { now = set(share); kept.set(property, now); };
  const shareAt = (event) => {
    const box = area.getBoundingClientRect();
    return along === "x" ? ((event.clientX - box.left) / box.width) * 100 : ((event.clientY - box.top) / box.height) * 100;
  };
  bar.addEventListener("pointerdown", (event) => { bar.setPointerCapture(event.pointerId); event.preventDefault(); bar.focus(); });
  bar.addEventListener("pointermove", (event) => { if (bar.hasPointerCapture(event.pointerId)) keep(shareAt(event)); });
  bar.addEventListener("dblclick", () => keep(initial));
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2, Home: -100, End: 100 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    keep(now + step);
  });
}

/** Show one of the five panes of a narrow window. */
export function showPane(name) {
  document.body.dataset.pane = name;
  for (const button of $("phone").querySelectorAll("button")) {
    if (button.dataset.pane === name) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
  }
  kept.set("pane", name);
}

/** The theme is the system's until one is chosen; `onChange` is called for either. */
export function themes(button, onChange) {
  const system = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const tell = () => {
    const label = isDark() ? "Light theme" : "Dark theme";
    button.setAttribute("aria-label", label);
    button.title = label;
    onChange();
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark", isSystem = (next === "dark") === system.matches;
    if (isSystem) delete root.dataset.theme; else root.dataset.theme = next;
    kept.set("theme", isSystem ? null : next);
    tell();
  });
  system.addEventListener("change", tell);
  tell();
}
