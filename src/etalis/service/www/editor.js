// A native textarea over a coloured copy of its text: undo, input methods, screen readers and phones as they are.
// Problems are marked in the copy, at the gutter, in a list below, and explained under their line.
import { clear, debounce, el, icon } from "./dom.js";

const LINE = 20, TOP = 8; // px, as in the style sheet
const WRAPPED = 60_000; // characters; longer texts are moved sideways instead
const TOKENS = {
  rules: /(?<comment>%[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<text>'(?:[^'\\\n]|\\.|'')*'?|"(?:[^"\\\n]|\\.|"")*"?)|(?<number>\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|(?<variable>\b[A-Z_]\w*)|(?<word>\??[a-z]\w*\??)|(?<sign><-|:-|-->|\\\+|[=\\<>:]+[=<>]*)/g,
  "ep-sparql": /(?<comment>#[^\n]*)|(?<text>"(?:[^"\\\n]|\\.)*"?|<[^>\s]*>)|(?<number>\b\d+(?:\.\d+)?\b)|(?<variable>[?$]\w+)|(?<word>[A-Za-z_][\w-]*:?[\w-]*|:[\w-]+)|(?<sign>[=!<>|&]+)/g,
  "snoop-r": /(?<comment>%[^\n]*)|(?<text>"(?:[^"\\\n]|\\.)*"?)|(?<number>\b\d+(?:\.\d+)?\b)|(?<word>[A-Za-z_]\w*(?::\w+(?=\())?)|(?<sign>[=:^]+)/g,
  terms: /(?<comment>%[^\n]*)|(?<text>'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?)|(?<number>-?\b\d+(?:\.\d+)?\b)|(?<word>\b(?:event|sleep|halt)\b)/g,
  json: /(?<variable>"(?:[^"\\\n]|\\.)*"(?=\s*:))|(?<text>"(?:[^"\\\n]|\\.)*"?)|(?<number>-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|(?<word>\b(?:true|false|null)\b)/gi,
  xml: /(?<comment><!--[\s\S]*?-->)|(?<text>"[^"<]*"?)|(?<word><\/?[\w:]+|\/?>)|(?<variable>\b[\w:]+(?==))/g,
  csv: /(?<comment>^[^\n]*(?=\n))|(?<text>"(?:[^"]|"")*"?)|(?<number>(?<![\w:.-])-?\d+(?:\.\d+)?(?![\w:.-]))/g,
};
const UNITS = /^(us|ms|s|sec|seconds?|min|minutes?|h|hours?|d|days?|weeks?)$/;
const SPARQL = /^(select|construct|where|filter|prefix|base|from|stream|window|range|step|named|graph|optional|union|minus|seq|equals|during|meets|starts|finishes|not|exists|getduration|getstarttime|getendtime|bind|as|values|group|by|having|order|limit|ask|distinct|a)$/i;
const SNOOP = /^(with|result|context|time|points|intervals|recent|chronicle|continuous|cumulative|unrestricted)$/;

let words = { operators: new Set(), predicates: new Set() };
/** Give editors the words of the language, as `/language.json` lists them. */
export function learn({ operators = [], keywords = [], predicates = [] }) {
  const names = (list) => list.map((each) => String(each?.name ?? each).replace(/\/.*$/, ""));
  words = { operators: new Set([...names(operators), ...names(keywords)]), predicates: new Set(names(predicates)) };
}

function classOf(group, text, language, rest) {
  if (group !== "word") return group;
  if (language === "ep-sparql") return SPARQL.test(text) ? "operator" : "";
  if (language === "snoop-r") return text.includes(":") ? "event" : SNOOP.test(text) || /^\(/.test(rest) ? "operator" : /^[A-Z]/.test(text) ? "variable" : "";
  if (language !== "rules") return "operator";
  if (words.operators.has(text) || words.operators.has(text.replaceAll("?", ""))) return "operator";
  if (UNITS.test(text) && !/^\(/.test(rest)) return "number";
  if (words.predicates.has(text) && /^\s*\(/.test(rest)) return "predicate";
  return /^\s*[(]/.test(rest) ? "event" : "";
}

/** Yield [class, start, end] of what has a colour. */
function* tokens(text, language) {
  for (const found of text.matchAll(TOKENS[language] ?? TOKENS.rules)) {
    if (language === "csv" && found.groups.comment !== undefined && found.index > 0) continue;
    const [group] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    const end = found.index + found[0].length;
    const name = classOf(group, found[0], language, text.slice(end, end + 8));
    if (name) yield [name, found.index, end];
  }
}

/** How many letters must change to make one word the other. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

/** The one edit that a hint "did you mean ...?" proposes: the word of the message that is meant, where it stands. */
export function fixOf(problem, text, [start, end]) {
  if (problem.fix?.replace !== undefined) return { start, end, replace: problem.fix.replace };
  const wanted = /^did you mean ([\w-]+)(?:\/\d+)?\?/.exec(problem.hint ?? "")?.[1];
  if (!wanted) return null;
  const named = new Set(problem.message.match(/[A-Za-z_][\w-]*/g) ?? []), piece = text.slice(start, Math.max(end, start + 1));
  const found = [...piece.matchAll(/[A-Za-z_][\w-]*/g)].filter(([word]) => named.has(word) && word !== wanted && distance(word, wanted) <= Math.max(2, wanted.length / 3));
  return found.length === 1 ? { start: start + found[0].index, end: start + found[0].index + found[0][0].length, replace: wanted } : null;
}

export class Editor {
  constructor(host, { label, language = "rules", onChange = () => {}, onRun = () => {}, placeholder = "" }) {
    this.language = language;
    this.problems = [];
    this.lit = 0;
    this.area = el("textarea", { "aria-label": label, spellcheck: "false", autocomplete: "off", autocapitalize: "off", autocorrect: "off", wrap: "soft", placeholder });
    this.code = el("pre", { "aria-hidden": "true" });
    this.numbers = el("pre", { "aria-hidden": "true" });
    this.marks = el("div", { class: "marks" });
    this.strip = el("div", { class: "strip", hidden: true });
    this.hint = el("div", { class: "under", hidden: true, onmouseleave: () => this.explain(0) });
    this.page = el("div", { class: "page" }, this.strip, this.code, this.area, this.hint);
    this.box = el("div", { class: "editor" }, el("div", { class: "gutter" }, this.numbers, this.marks), this.page);
    this.list = el("ul", { class: "problems", "aria-label": `Problems of ${label.toLowerCase()}`, hidden: true });
    host.append(this.box, this.list);
    const changed = debounce(250, () => onChange(this.value));
    this.area.addEventListener("input", () => { this.explain(0); this.paint(); changed(); });
    this.area.addEventListener("keydown", (event) => this.key(event, onRun));
    this.area.addEventListener("mousemove", (event) => this.hover(event));
    this.paint();
    new ResizeObserver(() => this.place()).observe(this.page);
  }

  get value() { return this.area.value; }
  set value(text) {
    this.area.value = text;
    this.problems = [];
    this.lit = 0;
    this.list.hidden = true;
    this.explain(0);
    this.paint();
    this.box.scrollTop = 0;
  }

  set readOnly(is) {
    this.area.readOnly = is;
    this.box.classList.toggle("read", is);
  }

  key(event, onRun) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); onRun(); } else if (event.key === "F8") {
      event.preventDefault();
      this.next(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape" && !this.hint.hidden) { event.stopPropagation(); this.explain(0); } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      const before = this.value.slice(0, this.area.selectionStart), indent = /(?:^|\n)([ \t]*)[^\n]*$/.exec(before)[1];
      const deeper = /(<-|:-)\s*$/.test(before) ? indent + "    " : /\.\s*$/.test(before) ? "" : indent;
      if (deeper) { event.preventDefault(); this.insert("\n" + deeper); }
    }
  }

  /** Put text in the place of the selection, so that it can be undone. */
  insert(text) {
    this.area.focus();
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
      this.area.dispatchEvent(new Event("input"));
    }
  }

  /** The offset of a line and column, both from 1. */
  offset(line, column = 1) {
    let at = 0;
    for (let n = 1; n < line; n++) {
      const next = this.value.indexOf("\n", at);
      if (next < 0) return this.value.length;
      at = next + 1;
    }
    return Math.min(at + column - 1, this.value.length);
  }

  range(problem) {
    const start = this.offset(problem.line ?? 1, problem.column ?? 1);
    let end = problem.end_line ? this.offset(problem.end_line, problem.end_column ?? 1) : start;
    if (end <= start) end = start + (/^[\w]+|^\S/.exec(this.value.slice(start))?.[0].length ?? 1);
    return [start, end];
  }

  show(problems) {
    this.problems = problems.map((problem) => ({ ...problem, range: problem.line ? this.range(problem) : null }));
    this.explain(0);
    this.paint();
    this.paintMarks();
    clear(this.list, this.problems.slice(0, 100).map((problem) => this.item(problem)));
    this.list.hidden = !problems.length;
  }

  item(problem) {
    const isError = problem.severity !== "warning";
    const place = problem.line ? `${problem.line}:${problem.column ?? 1}` : "";
    return el("li", { class: isError ? "error" : "warning" },
      el("button", { type: "button", class: "place", onclick: () => this.goTo(problem.line ?? 1, problem.column ?? 1, problem) },
        icon(isError ? "error" : "warning"), el("span", { class: "away" }, isError ? "error " : "warning "), el("span", { class: "code" }, `${place} ${problem.code ?? ""}`), " ", problem.message),
      problem.hint && el("span", { class: "hint" }, problem.hint), this.fixButton(problem));
  }

  fixButton(problem) {
    const fix = problem.range && !this.area.readOnly && fixOf(problem, this.value, problem.range);
    return fix && el("button", { type: "button", class: "fix", onclick: () => this.fix(fix) }, fix.replace ? `Replace by ${fix.replace}` : "Remove");
  }

  fix({ start, end, replace }) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
    this.insert(replace);
  }

  next(step) {
    const marked = this.problems.filter((problem) => problem.range).sort((a, b) => a.range[0] - b.range[0]);
    if (!marked.length) return;
    const at = this.area.selectionStart;
    const following = step > 0 ? marked.find((p) => p.range[0] > at) ?? marked[0] : marked.findLast((p) => p.range[0] < at) ?? marked.at(-1);
    this.goTo(following.line, following.column, following);
  }

  goTo(line, column = 1, problem = null) {
    const at = this.offset(line, column);
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(at, at);
    this.reveal(line);
    if (problem) this.explain(line);
  }

  reveal(line) {
    const y = this.topOf(line), box = this.box;
    if (y < box.scrollTop + LINE || y > box.scrollTop + box.clientHeight - 3 * LINE) box.scrollTop = Math.max(y - box.clientHeight / 3, 0);
  }

  /** The line where the clause of a line ends. */
  lastOf(line) {
    const lines = this.value.split("\n"), end = lines.findIndex((each, i) => i >= line - 1 && /\.\s*(%.*)?$/.test(each));
    return end < 0 ? lines.length : end + 1;
  }

  /** Light a line, as the one that was sent last, or some; 0 for none. */
  light(line, last = line, reveal = true) {
    this.lit = line;
    this.litTo = last;
    this.strip.hidden = !line;
    this.strip.style.top = `${this.topOf(line)}px`;
    this.strip.style.height = `${this.topOf(last + 1) - this.topOf(line)}px`;
    if (line && reveal) this.reveal(line);
  }

  hover(event) {
    const box = this.area.getBoundingClientRect();
    const y = event.clientY - box.top;
    let line = 1;
    while (line < this.lines && this.topOf(line + 1) <= y) line++;
    const found = this.problems.some((problem) => problem.line === line);
    if (found || (!this.hint.hidden && line !== this.shown + 1)) this.explain(found ? line : 0);
  }

  /** Show the problems of a line under it. */
  explain(line) {
    const found = line ? this.problems.filter((problem) => problem.line === line) : [];
    this.hint.hidden = !found.length;
    this.shown = line;
    if (!found.length) return;
    clear(this.hint, found.map((problem) => el("div", { class: problem.severity === "warning" ? "warning" : "error" },
      el("strong", {}, problem.code ?? ""), " ", problem.message, problem.hint && el("div", { class: "hint" }, problem.hint), this.fixButton(problem))));
    this.hint.style.top = `${this.topOf(line + 1) + 2}px`;
  }

  paint() {
    const text = this.value, ranges = this.problems.filter((p) => p.range).map((p) => [...p.range, p.severity === "warning" ? "warned" : "wrong"]);
    const lines = [el("div")];
    const add = (piece, names) => piece.split("\n").forEach((part, i) => {
      if (i) lines.push(el("div"));
      if (part) lines.at(-1).append(names ? el("span", { class: names }, part) : part);
    });
    const put = (start, end, name) => {
      // cut at the ends of problems, so that each piece is in a problem or not
      const cuts = [start, ...ranges.flatMap(([a, b]) => [a, b]).filter((at) => at > start && at < end).sort((a, b) => a - b), end];
      for (let i = 0; i + 1 < cuts.length; i++) {
        const piece = text.slice(cuts[i], cuts[i + 1]), marked = ranges.find(([a, b]) => a <= cuts[i] && cuts[i] < b);
        const names = [name && "t-" + name, marked?.[2]].filter(Boolean).join(" ");
        if (piece) add(piece, names);
      }
    };
    let done = 0;
    for (const [name, start, end] of tokens(text, this.language)) {
      if (start < done) continue;
      put(done, start, "");
      put(start, end, name);
      done = end;
    }
    put(done, text.length, "");
    this.code.replaceChildren(...lines);
    this.lines = lines.length;
    this.box.classList.toggle("wraps", text.length <= WRAPPED);
    this.place();
    if (!this.problems.length) clear(this.marks);
  }

  /** The top of a line, in pixels. */
  topOf(line) { return this.tops ? this.tops[Math.min(line, this.tops.length) - 1] : TOP + (line - 1) * LINE; }

  /** Number the lines beside where they begin: those that are wrapped take several rows. */
  place() {
    if (!this.page.offsetWidth) return; // once it is seen
    const rows = this.box.classList.contains("wraps") ? Array.from(this.code.children, (each) => Math.max(Math.round(each.offsetHeight / LINE), 1)) : null;
    const key = rows && rows.some((n) => n > 1) ? rows.join() : String(this.lines);
    if (key === this.placed) return;
    this.placed = key;
    this.tops = null;
    if (key.includes(",")) {
      this.tops = [TOP];
      for (const n of rows) this.tops.push(this.tops.at(-1) + n * LINE);
    }
    this.numbers.textContent = Array.from({ length: this.lines }, (_, i) => (i + 1) + "\n".repeat(this.tops ? rows[i] : 1)).join("").slice(0, -1);
    for (const mark of this.marks.children) mark.style.top = `${this.topOf(Number(mark.dataset.line))}px`;
    if (this.lit) this.light(this.lit, this.litTo, false);
    if (!this.hint.hidden) this.hint.style.top = `${this.topOf(this.shown + 1) + 2}px`;
  }

  paintMarks() {
    const lines = new Map();
    for (const problem of this.problems) if (problem.line && lines.get(problem.line) !== "error") lines.set(problem.line, problem.severity === "warning" ? "warning" : "error");
    clear(this.marks, [...lines].slice(0, 500).map(([line, kind]) => {
      const mark = el("button", { type: "button", tabindex: "-1", class: "mark " + kind, "aria-label": `${kind} in line ${line}`, onclick: () => this.goTo(line, 1, true) }, icon(kind));
      mark.dataset.line = line;
      mark.style.top = `${this.topOf(line)}px`;
      return mark;
    }));
  }
}
