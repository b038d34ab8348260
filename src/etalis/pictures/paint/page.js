// A page of a picture: a time line that can be moved and zoomed, or a diagram. Few marks are drawn as SVG, many on a
// canvas; both draw the same paths. Texts only ever become text nodes.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const ROW = 24, BAR = 14, AXIS = 30, HEADING = 17, BETWEEN = 12, COLUMN = 3, LETTER = 6.71, SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
const make = (tag, text) => Object.assign(document.createElement(tag), { textContent: text ?? "" });
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function canvasPen(canvas, width, height) {
  const scale = window.devicePixelRatio || 1, pen = canvas.getContext("2d"), colours = new Map();
  const seen = (name) => colours.get(name) ?? (colours.set(name, colour(name)), colours.get(name));
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
  }
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  return {
    path(d, { fill, alpha = 1, stroke, width: line = 1, dash = "" }) {
      const path = new Path2D(d);
      if (fill) { pen.globalAlpha = alpha; pen.fillStyle = seen(fill); pen.fill(path); pen.globalAlpha = 1; }
      if (stroke) { pen.lineWidth = line; pen.setLineDash(dash ? dash.split(" ").map(Number) : []); pen.strokeStyle = seen(stroke); pen.stroke(path); }
    },
    rects(all, fill) { pen.fillStyle = seen(fill); for (const [x, y, w, h] of all) pen.fillRect(x, y, w, h); },
    text(x, y, text, name, anchor = "start", weight = "") {
      pen.font = weight + " 11px " + data.font; pen.fillStyle = seen(name);
      pen.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
      pen.fillText(text, x, y);
    },
    done() {},
  };
}

function svgPen(svg, width, height) {
  const parts = document.createDocumentFragment();
  const add = (tag, attributes) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== "") element.setAttribute(name, value);
    return parts.appendChild(element);
  };
  svg.setAttribute("width", width); svg.setAttribute("height", height);
  return {
    path(d, { fill, alpha, stroke, width: line, dash }) {
      add("path", { d, fill: fill ? `var(--${fill})` : "none", "fill-opacity": alpha, stroke: stroke && `var(--${stroke})`, "stroke-width": line, "stroke-dasharray": dash });
    },
    rects(all, fill) { add("path", { d: all.map(([x, y, w, h]) => `M${x} ${y}h${w}v${h}h${-w}z`).join(""), fill: `var(--${fill})` }); },
    text(x, y, text, name, anchor, weight) {
      add("text", { x, y, fill: `var(--${name})`, "text-anchor": anchor, "font-weight": weight, "font-size": 11, "font-family": data.font }).textContent = text;
    },
    done() { svg.replaceChildren(parts); },
  };
}

function glyph(shape, x, y) {
  const [l, t] = [(x - 5).toFixed(1), (y - 5).toFixed(1)];
  switch (shape) {
    case "diamond": return `M${x} ${y - 6}l6 6l-6 6l-6 -6z`;
    case "square": return `M${l} ${t}h10v10h-10z`;
    case "triangle": return `M${x} ${y - 6}l6 11h-12z`;
    case "wedge": return `M${x} ${y + 6}l6 -11h-12z`;
    case "cross": return `M${l} ${t}l10 10m0 -10l-10 10`;
    default: return `M${l} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z`;
  }
}

// The shapes of one form in one row, gathered and then drawn at once.
function newShapes() { return { inside: "", edges: "", heads: "", glyphs: "" }; }
function addBar(shapes, x0, x1, y, open0, open1) {
  const top = y - BAR / 2, edge = (x) => `M${x} ${top}v${BAR}`, head = (x, way) => `M${x - way * 7} ${y - 4}l${way * 7} 4l${-way * 7} 4`;
  shapes.inside += `M${x0} ${top}H${x1}v${BAR}H${x0}z`;
  shapes.edges += `M${x0} ${top}H${x1}M${x0} ${top + BAR}H${x1}` + (open0 ? "" : edge(x0)) + (open1 ? "" : edge(x1));
  shapes.heads += (open0 ? head(x0, -1) : "") + (open1 ? head(x1, 1) : "");
}
function drawShapes(pen, form, { inside, edges, heads, glyphs }) {
  const hollow = form.shape === "ring", lines = hollow || form.shape === "cross";
  if (inside && !hollow) pen.path(inside, { fill: form.colour, alpha: 0.18 });
  if (edges) pen.path(edges, { stroke: form.colour, width: form.width, dash: form.dash });
  if (heads) pen.path(heads, { stroke: form.colour, width: 1.6 });
  if (glyphs) pen.path(glyphs, lines ? { fill: hollow ? "paper" : undefined, stroke: form.colour, width: 2 } : { fill: form.colour, stroke: "paper", width: 1 });
}

// the first place in [low, high) at which a sorted array is at least `value`
function firstAtLeast(array, value, low, high) {
  while (low < high) { const middle = (low + high) >> 1; if (array[middle] < value) low = middle + 1; else high = middle; }
  return low;
}

function startTimeline(marks) {
  const count = marks.lane.length, view = byId("view"), home = { first: 0, last: data.span }, now = { ...home };
  const dense = count > data.many, sheet = dense ? make("canvas") : document.createElementNS(SVG, "svg");
  const start = marks.start.map((t) => t ?? -Infinity), end = marks.end.map((t) => t ?? Infinity), reach = new Array(count), rows = [], tops = [];
  let selected = -1, made = new Set(), pending = false, width = 0, height = 0;
  for (const lane of data.lanes) lane.ends = {};
  for (let i = 0; i < count; i++) { // marks come by lane, row and start
    const row = rows.at(-1);
    if (row && row.lane === marks.lane[i] && row.row === marks.row[i]) { row.high = i + 1; reach[i] = Math.max(reach[i - 1], end[i]); }
    else { rows.push({ low: i, high: i + 1, lane: marks.lane[i], row: marks.row[i] }); reach[i] = end[i]; }
    (data.lanes[marks.lane[i]].ends[marks.form[i]] ??= []).push(end[i]);
  }
  for (const lane of data.lanes) for (const ends of Object.values(lane.ends)) ends.sort((a, b) => a - b);
  const left = 16 + LETTER * data.gutter;
  const plot = () => Math.max(width - left - 8, 100), scale = () => plot() / (now.last - now.first);
  const xOf = (t) => left + Math.min(Math.max((t - now.first) * scale(), -1e5), 1e5);
  const clip = (x) => Math.round(10 * Math.min(Math.max(x, left), left + plot())) / 10;
  const timeOf = (x) => now.first + (x - left) / scale();

  // A lane that is crowded in the times shown is low: single marks need more room than their number.
  function stack() {
    height = AXIS;
    data.lanes.forEach((lane, i) => {
      lane.crowded = data.crowded * seen(lane) > plot(); lane.height = ROW * (lane.crowded ? Math.min(lane.rows, 2) : lane.rows);
      if (lane.heading.length) height += (height > AXIS ? BETWEEN : 0) + HEADING * lane.heading.length + 4;
      tops[i] = height; height += lane.height + 2;
    });
  }
  const middle = (i) => tops[marks.lane[i]] + (data.lanes[marks.lane[i]].crowded ? data.lanes[marks.lane[i]].height / 2 : ROW * (marks.row[i] + 0.5));

  function draw() {
    pending = false;
    width = Math.max(view.clientWidth, 320);
    stack();
    const pen = (dense ? canvasPen : svgPen)(sheet, width, height + 4);
    pen.rects([[0, 0, width, height + 4]], "paper");
    data.lanes.forEach((lane, i) => {
      lane.heading.forEach((line, k) => pen.text(0, tops[i] - 9 - HEADING * (lane.heading.length - 1 - k), line, "faint", "start", k ? "" : "bold"));
      pen.rects([[left, tops[i], plot(), lane.height]], "band");
      pen.text(left - 10, tops[i] + lane.height / 2 + 4, lane.label, "ink", "end");
    });
    drawAxis(pen);
    data.lanes.forEach((lane, i) => { if (lane.crowded) drawColumns(pen, lane, i); });
    for (const row of rows) if (!data.lanes[row.lane].crowded) drawRow(pen, row);
    if (selected >= 0) for (const i of [...made, selected]) drawFrame(pen, i);
    for (const [from, to, form] of [...data.links, ...(selected < 0 ? [] : marks.parts[selected].map((part) => [part, selected, "part"]))]) drawLink(pen, from, to, data.linkForms[form]);
    pen.done();
    view.dataset.drawn = (Number(view.dataset.drawn) || 0) + 1;
  }

  function drawRow(pen, row) {
    const y = middle(row.low), shapes = {}, texts = [];
    let free = left - 4;
    for (let i = firstAtLeast(reach, now.first, row.low, row.high); i < row.high && start[i] <= now.last; i++) {
      if (end[i] < now.first) continue;
      const name = marks.form[i], held = (shapes[name] ??= newShapes()), x0 = clip(xOf(start[i])), x1 = clip(xOf(end[i]));
      if (x1 - x0 >= 3) addBar(held, x0, x1, y, start[i] < now.first, end[i] > now.last);
      if (end[i] <= now.last && (data.forms[name].shape !== "ring" || x1 - x0 < 3)) held.glyphs += glyph(data.forms[name].shape, x1, y);
      const text = marks.label[i].length > 34 ? marks.label[i].slice(0, 33) + "…" : marks.label[i], wide = data.cells(text) * LETTER;
      const next = i + 1 < row.high ? xOf(start[i + 1]) : left + plot() + 12;
      if (wide + 20 <= x1 - x0 && x0 >= free - 12) { if (x0 + wide + 10 <= next) texts.push([x0 + (start[i] < now.first ? 14 : 7), text]); }
      else if (x1 + 10 + wide <= Math.min(next - 6, left + plot() + 8)) { texts.push([x1 + 10, text]); free = x1 + 10 + wide; continue; }
      else if (x0 - 10 - wide >= free) texts.push([x0 - 10 - wide, text]);
      free = Math.max(free, x1 + 8);
    }
    for (const [name, held] of Object.entries(shapes)) drawShapes(pen, data.forms[name], held);
    for (const [x, text] of texts) pen.text(x, y + 4, text, "ink");
  }

  const countEnds = (ends) => firstAtLeast(ends, now.last, 0, ends.length) - firstAtLeast(ends, now.first, 0, ends.length);
  const seen = (lane) => Object.values(lane.ends).reduce((sum, ends) => sum + countEnds(ends), 0);

  // A crowded lane: columns as high as marks end there, found by halving, not by looking at each.
  function drawColumns(pen, lane, number) {
    const step = COLUMN / scale(), base = tops[number] + lane.height - 2, room = lane.height - 6, below = [], found = {};
    for (const [form, ends] of Object.entries(lane.ends)) {
      const columns = (found[form] = []);
      for (let i = firstAtLeast(ends, now.first, 0, ends.length), next; i < ends.length && ends[i] <= now.last; i = next) {
        const column = Math.floor((ends[i] - now.first) / step);
        next = firstAtLeast(ends, now.first + (column + 1) * step, i + 1, ends.length);
        columns.push([column, below[column] ?? 0, (below[column] = (below[column] ?? 0) + next - i)]);
      }
    }
    const tallest = below.reduce((a, b) => Math.max(a, b ?? 0), 1), tall = (n) => room * Math.sqrt(n / tallest);
    for (const [form, columns] of Object.entries(found))
      pen.rects(columns.map(([c, low, high]) => [left + c * COLUMN, Math.round(base - tall(high)), 2, Math.max(Math.round(tall(high) - tall(low)), 1)]), data.forms[form].colour);
  }

  function drawFrame(pen, i) {
    if (end[i] < now.first || start[i] > now.last) return;
    const x0 = clip(xOf(start[i])) - 9, x1 = clip(xOf(end[i])) + 9, y = middle(i) - 10;
    pen.path(`M${x0} ${y}H${x1}v20H${x0}z`, { stroke: i === selected ? "red" : "ink", width: 1.6, dash: i === selected ? "" : "3 2" });
  }

  function drawLink(pen, from, to, form) {
    const [x0, x1] = [clip(xOf(end[from])), clip(xOf(end[to]))], [y0, y1] = [middle(from), middle(to)];
    pen.path(`M${x0} ${y0 + 7}C${x0} ${(y0 + y1) / 2} ${x1} ${(y0 + y1) / 2} ${x1} ${y1 - 8}m-4 -5l4 6l4 -6`, { stroke: form.colour, width: 1.3, dash: form.dash });
  }

  function drawAxis(pen) {
    const steps = data.dates ? clockSteps : decimalSteps, room = plot() / LETTER;
    let ticks = [];
    for (const step of steps(now.last - now.first)) {
      const offset = Number(BigInt(data.first) % BigInt(step)), from = Math.ceil((now.first + offset) / step) * step - offset;
      if ((now.last - from) / step > room) continue;
      ticks = [];
      for (let t = from; t <= now.last; t += step) ticks.push([t, moment(t, step)]);
      if (ticks.reduce((sum, [, text]) => sum + text.length + 3, 0) <= room || ticks.length < 2) break;
    }
    const centre = BigInt(data.first) + BigInt(Math.round((now.first + now.last) / 2));
    pen.text(left - 10, 14, data.dates ? new Date(Number(centre / 1000n)).toISOString().slice(0, 10) + " UTC" : "seconds", "faint", "end");
    let free = left - 1;
    for (const [t, text] of ticks) {
      const x = clip(xOf(t)), half = (text.length * LETTER) / 2, at = Math.min(Math.max(x, left + half), left + plot() - half + 8);
      pen.rects(data.lanes.map((lane, i) => [Math.round(x), tops[i], 1, lane.height]), "grid");
      if (at - half > free) { pen.text(at, 14, text, "faint", "middle"); free = at + half + 6; }
    }
  }

  function* decimalSteps() { for (let power = 1; power < 1e18; power *= 10) { yield power; yield 2 * power; yield 5 * power; } }
  function* clockSteps(span) {
    if (span < 2e7) for (const step of decimalSteps()) if (step < 1e6) yield step;
    for (const step of [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200]) yield step * 1e6;
    for (const step of decimalSteps()) yield step * 86400e6;
  }
  function moment(t, step) {
    const exact = BigInt(data.first) + BigInt(Math.round(t));
    if (!data.dates) { const text = (exact < 0n ? -exact : exact).toString().padStart(7, "0"); return (exact < 0n ? "-" : "") + (text.slice(0, -6) + "." + text.slice(-6)).replace(/\.?0+$/, ""); }
    const iso = new Date(Number(exact / 1000n)).toISOString(), span = now.last - now.first;
    if (step >= 86400e6) return iso.slice(0, 10);
    if (step < 1e6) return (iso.slice(11, 19) + "." + (((exact % 1000000n) + 1000000n) % 1000000n).toString().padStart(6, "0")).replace(/\.?0+$/, "");
    return span > 86400e6 ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, step % 60e6 ? 19 : 16);
  }

  const redraw = () => { if (!pending) { pending = true; requestAnimationFrame(draw); } };
  function move(first, last) {
    const least = Math.min(20, data.span), span = Math.min(Math.max(last - first, least), data.span);
    now.first = Math.min(Math.max(first, 0), data.span - span); now.last = now.first + span;
    redraw();
  }
  const zoom = (factor, at) => move(at - (at - now.first) * factor, at + (now.last - at) * factor);
  const pan = (share) => { const by = share * (now.last - now.first); move(now.first + by, now.last + by); };

  function markAt(event) {
    const box = view.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top, slack = 8 / scale(), t = timeOf(x);
    const near = (row) => Math.abs(y - middle(row.low)) < (data.lanes[row.lane].crowded ? data.lanes[row.lane].height : ROW) / 2;
    let best = -1, distance = Infinity;
    for (const row of x < left - 8 ? [] : rows.filter(near)) for (let i = firstAtLeast(reach, t - slack, row.low, row.high); i < row.high && start[i] <= t + slack; i++) {
      const away = Math.max(start[i] - t, t - end[i], 0);
      if (away <= slack && away <= distance) [best, distance] = [i, away];
    }
    return best;
  }
  function lines(i) {
    const parts = marks.parts[i], told = [...marks.details[i]];
    if (parts.length) told.push(`made of ${parts.length}: ` + parts.slice(0, 6).map((part) => marks.label[part]).join(", ") + (parts.length > 6 ? " …" : ""));
    return told.concat(marks.why[i] ?? []);
  }
  function select(i) {
    selected = i; made = new Set();
    const why = byId("why"), waiting = i < 0 ? [] : [[i, 0]];
    why.replaceChildren();
    for (let shown = 0; waiting.length; shown++) { // nearest first below each
      const [mark, depth] = waiting.pop();
      if (depth && made.has(mark)) continue;
      if (depth) made.add(mark);
      if (shown < 200) {
        const line = why.appendChild(make("div", "    ".repeat(depth))), name = line.appendChild(make(depth ? "button" : "b", marks.label[mark]));
        if (depth) name.onclick = () => { select(mark); if (start[mark] < now.first || end[mark] > now.last) { const half = (now.last - now.first) / 2; move(end[mark] - half, end[mark] + half); } };
        line.append("  " + marks.details[mark].join("  "));
        for (const told of marks.why[mark] ?? []) why.appendChild(make("div", "    ".repeat(depth + 1) + told)).className = "told";
        if (!depth && !marks.parts[mark].length) line.append(make("p", data.noParts));
      } else if (shown === 200) why.append(make("p", "… and more"));
      for (const part of [...marks.parts[mark]].reverse()) waiting.push([part, depth + 1]);
    }
    redraw();
  }

  view.replaceChildren(sheet);
  sheet.setAttribute("role", "img"); sheet.setAttribute("aria-label", data.title);
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && !event.altKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY) && now.last - now.first === data.span && event.deltaY > 0) return; // the page scrolls
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / plot());
    else zoom(Math.exp(Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 200) * 0.002), timeOf(event.clientX - view.getBoundingClientRect().left));
  }, { passive: false });
  let held = null;
  view.addEventListener("pointerdown", (event) => { held = { x: event.clientX, first: now.first, last: now.last, moved: false }; });
  addEventListener("pointermove", (event) => {
    if (held && Math.abs(event.clientX - held.x) > 3) held.moved = true;
    if (held?.moved) { const by = (held.x - event.clientX) / scale(); return move(held.first + by, held.last + by); }
    const over = view.contains(event.target) ? markAt(event) : -1;
    if (over < 0) hideHint(); else showHint(event, marks.label[over], lines(over));
  });
  addEventListener("pointerup", (event) => { if (held && !held.moved && view.contains(event.target)) select(markAt(event)); held = null; });
  view.addEventListener("dblclick", () => move(home.first, home.last));
  const keys = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.7, (now.first + now.last) / 2), "-": () => zoom(1 / 0.7, (now.first + now.last) / 2), Home: () => move(home.first, home.last), Escape: () => select(-1) };
  view.addEventListener("keydown", (event) => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } });
  for (const [id, key] of [["in", "+"], ["out", "-"], ["all", "Home"]]) byId(id).onclick = keys[key];
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new ResizeObserver(redraw).observe(view);
  draw();
  window.etalis = { select, move, now, draw, sheet };
}

function showHint(event, title, told) {
  const hint = byId("hint");
  hint.replaceChildren(make("b", title), ...told.map((line) => make("div", line)));
  hint.hidden = false;
  const right = event.clientX + 14 + hint.offsetWidth > innerWidth, below = event.clientY + 16 + hint.offsetHeight > innerHeight;
  hint.style.left = Math.max(right ? event.clientX - hint.offsetWidth - 10 : event.clientX + 14, 4) + "px";
  hint.style.top = Math.max(below ? event.clientY - hint.offsetHeight - 10 : event.clientY + 16, 4) + "px";
}
function hideHint() { byId("hint").hidden = true; }

// A diagram: pointing at a box shows all it says, and marks what it rests on; a click keeps that.
function startDiagram(boxes) {
  const figure = byId("figure"), sheet = figure.querySelector("svg"), wide = sheet.viewBox.baseVal.width, before = boxes.map(() => []);
  data.links.forEach(([from, to]) => before[to].push(from));
  function mark(number) {
    const on = new Set(), waiting = number < 0 ? [] : [number];
    while (waiting.length) { const box = waiting.pop(); if (!on.has(box)) { on.add(box); waiting.push(...before[box]); } }
    for (const group of figure.querySelectorAll("[data-box]")) group.classList.toggle("on", on.has(Number(group.dataset.box)));
    for (const path of figure.querySelectorAll("[data-to]")) path.classList.toggle("on", on.has(Number(path.dataset.to)));
  }
  let kept = -1;
  figure.querySelectorAll("[data-box]").forEach((group) => {
    const number = Number(group.dataset.box), [title, ...told] = boxes[number];
    group.querySelector("title")?.remove();
    group.addEventListener("pointermove", (event) => { showHint(event, title, told); mark(number); });
    group.addEventListener("pointerleave", () => { hideHint(); mark(kept); });
    group.addEventListener("click", () => {
      kept = kept === number ? -1 : number;
      byId("why").replaceChildren(...(kept < 0 ? [] : [make("b", title), ...told.map((line) => make("div", line))]));
      mark(kept);
    });
  });

  // A picture little wider than the page is made to fit; one that is much wider can be moved, its conclusion in view.
  let size = 1, held = null;
  function zoom(to) {
    const middle = (figure.scrollLeft + figure.clientWidth / 2) / (wide * size);
    size = Math.min(Math.max(to, 0.1), 4); sheet.setAttribute("width", wide * size); sheet.removeAttribute("height");
    figure.scrollLeft = middle * wide * size - figure.clientWidth / 2;
  }
  const fit = () => Math.min(1, figure.clientWidth / wide, figure.clientHeight / sheet.viewBox.baseVal.height);
  zoom(figure.clientWidth / wide > 0.8 ? Math.min(1, figure.clientWidth / wide) : 1);
  if (!data.links.some(([from]) => from === 0)) figure.querySelector('[data-box="0"]')?.scrollIntoView({ block: "end", inline: "center" });
  scrollTo(0, 0);
  const keys = { "+": () => zoom(size / 0.8), "-": () => zoom(size * 0.8), Home: () => zoom(fit()) };
  figure.addEventListener("keydown", (event) => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } });
  for (const [id, key] of [["in", "+"], ["out", "-"], ["all", "Home"]]) byId(id).onclick = keys[key];
  figure.addEventListener("pointerdown", (event) => { held = { x: event.clientX + figure.scrollLeft, y: event.clientY + figure.scrollTop }; });
  addEventListener("pointermove", (event) => { if (held) figure.scrollTo(held.x - event.clientX, held.y - event.clientY); });
  addEventListener("pointerup", () => { held = null; });
}

data.cells = (text) => [...text].reduce((sum, c) => sum + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(c) ? 2 : 1), 0);
if (data.marks) startTimeline(data.marks); else startDiagram(data.boxes);
