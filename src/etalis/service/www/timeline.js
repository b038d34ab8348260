// The time line: one canvas with an overview, an axis and a lane for each kind of event. A frame bins what is visible by
// lane and pixel column; few marks of a column are drawn as they are, more as a column as high as the log of their number.
import { ROWS } from "./marks.js";
import { dayText, ticks } from "./times.js";

export const OVERVIEW = 30, AXIS = 24, HEAD = OVERVIEW + AXIS, RULE = 20;
const FEW = 3, ROW = 13, EDGE = 10;
const NAMES = ["pane", "page", "ink", "muted", "line", "accent", "error", "soft", ...Array.from({ length: 8 }, (_, i) => "kind" + i)];

const naturalHeight = (lane) => (lane.folded ? 16 : lane.rows > 1 ? 10 + ROW * lane.rows : 32);

export class Timeline {
  constructor(canvas, marks, { onDraw = () => {} } = {}) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.marks = marks;
    this.onDraw = onDraw;
    this.view = { first: 0, last: 1 };
    this.fitted = true; // the view follows the whole until somebody moves it
    this.live = false;
    this.dates = false;
    this.scroll = 0;
    this.chosen = null; // a mark
    this.parts = []; // marks that it is made of
    this.ghost = null; // {lane, from, to, blockers} of a why-not
    this.before = false; // of the program before
    this.places = []; // [{lane, top, height}] and the line between received and derived
    this.width = this.height = 0;
    this.pending = false;
    this.binned = { version: -1 };
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
  }

  /** Take the colours of the page; to be called when the theme changes. */
  dress() {
    const style = getComputedStyle(document.documentElement);
    this.colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
    this.font = style.getPropertyValue("--sans").trim() || "sans-serif";
    this.redraw();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement, ratio = devicePixelRatio || 1;
    if (!width || !height) return;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.binned.version = -1;
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  get span() { return this.view.last - this.view.first; }
  xOf(time) { return EDGE + ((time - this.view.first) / this.span) * (this.width - 2 * EDGE); }
  timeAt(x) { return this.view.first + ((x - EDGE) / (this.width - 2 * EDGE)) * this.span; }

  /** The first and last time of all marks, with some air. */
  whole() {
    const { low, high } = this.marks;
    if (!(low <= high)) return { first: 0, last: 1 };
    const air = (high - low) * 0.02 || 0.5;
    return { first: low - air, last: high + air };
  }

  fit() {
    this.fitted = true;
    this.view = this.whole();
    this.redraw();
  }

  move(first, last) {
    const whole = this.whole(), all = whole.last - whole.first, least = Math.max(all * 1e-9, 1e-5);
    const span = Math.min(Math.max(last - first, least), all * 4);
    if (span !== last - first) [first, last] = [(first + last - span) / 2, (first + last + span) / 2];
    // something of the whole stays in sight
    const shift = Math.max(whole.first - last + span * 0.1, 0) - Math.max(first - whole.last + span * 0.1, 0);
    this.fitted = false;
    this.view = { first: first + shift, last: last + shift };
    this.redraw();
  }

  zoom(factor, x = this.width / 2) {
    const at = this.timeAt(x);
    this.move(at - (at - this.view.first) * factor, at + (this.view.last - at) * factor);
  }

  pan(pixels) {
    const by = (pixels / (this.width - 2 * EDGE)) * this.span;
    this.live = false;
    this.move(this.view.first + by, this.view.last + by);
  }

  /** Bring a mark into sight. */
  reveal(id) {
    const start = this.marks.start(id), end = this.marks.end(id), { first, last } = this.view;
    if (end >= first && start <= last && end <= last) return this.redraw();
    const span = Math.max(this.span, (end - start) * 1.2);
    this.move((start + end - span) / 2, (start + end + span) / 2);
  }

  /** New marks have come: follow the whole, or the end. */
  grown() {
    if (this.fitted) this.view = this.whole();
    else if (this.live) {
      const by = this.whole().last - this.view.last;
      if (by > 0) this.view = { first: this.view.first + by, last: this.view.last + by };
    }
    this.redraw();
  }

  /** Where lanes are, from the top of the first. */
  layout() {
    let top = 0, derived = false;
    this.places = [];
    const shown = this.marks.shown(), natural = shown.reduce((sum, lane) => sum + naturalHeight(lane), RULE);
    this.stretch = Math.min(Math.max((this.height - HEAD) / natural, 0.7), 1.5); // few lanes may be taller, many lower
    for (const lane of shown) {
      if (lane.derived && !derived) { this.places.push({ rule: true, top, height: RULE }); top += RULE; derived = true; }
      const height = lane.folded ? 16 : Math.floor(naturalHeight(lane) * this.stretch);
      this.places.push({ lane, top, height });
      top += height;
    }
    this.total = top;
    return this.places;
  }

  placeOf(lane) { return this.places.find((place) => place.lane === lane); }
  middle(place, id) {
    const base = HEAD + place.top - this.scroll;
    if (place.lane.folded || place.lane.rows === 1) return base + place.height / 2;
    return base + place.height * ((5 + ROW * (Math.min(this.marks.row(id), ROWS - 1) + 0.5)) / (10 + ROW * place.lane.rows));
  }

  draw() {
    if (!this.width || !this.colours) return;
    const { pen, colours } = this;
    this.layout();
    pen.clearRect(0, 0, this.width, this.height);
    pen.fillStyle = colours.pane;
    pen.fillRect(0, 0, this.width, this.height);
    const axis = ticks(this.view.first, this.view.last, this.width - 2 * EDGE, this.dates);
    pen.strokeStyle = colours.soft;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const { time } of axis.ticks) { const x = Math.round(this.xOf(time)) + 0.5; pen.moveTo(x, HEAD); pen.lineTo(x, this.height); }
    pen.stroke();
    pen.save();
    pen.beginPath();
    pen.rect(0, HEAD, this.width, this.height - HEAD);
    pen.clip();
    this.visible = 0;
    for (const place of this.places) {
      const top = HEAD + place.top - this.scroll;
      if (top > this.height || top + place.height < HEAD) continue;
      if (place.rule) { this.line(top + RULE / 2, colours.line, [2, 3]); continue; }
      this.drawLane(place, top);
    }
    this.drawGhost();
    this.drawLinks();
    pen.restore();
    this.drawOverview();
    this.drawAxis(axis);
    this.onDraw();
  }

  line(y, colour, dash = []) {
    const { pen } = this;
    pen.setLineDash(dash);
    pen.lineWidth = 1;
    pen.strokeStyle = colour;
    pen.beginPath();
    pen.moveTo(0, Math.round(y) + 0.5);
    pen.lineTo(this.width, Math.round(y) + 0.5);
    pen.stroke();
    pen.setLineDash([]);
  }

  drawAxis(axis) {
    const { pen, colours } = this;
    pen.font = `11px ${this.font}`;
    pen.textBaseline = "middle";
    pen.fillStyle = colours.muted;
    const y = OVERVIEW + AXIS / 2, day = dayText(this.view.first, this.dates), room = day && axis.step < 86400 ? pen.measureText(day).width + 16 : 0;
    pen.textAlign = "center";
    for (const { time, label } of axis.ticks) {
      const x = this.xOf(time), half = pen.measureText(label).width / 2;
      if (x - half < room || x + half > this.width) continue;
      pen.fillText(label, x, y);
    }
    if (room) { pen.textAlign = "left"; pen.font = `600 11px ${this.font}`; pen.fillText(day, 6, y); }
    this.line(HEAD - 1, colours.line);
  }

  drawOverview() {
    const { pen, colours, marks } = this, width = Math.floor(this.width), whole = this.whole();
    if (this.binned.version !== marks.version || this.binned.width !== width) {
      const bins = Math.max(Math.floor(width / 3), 1);
      this.binned = { version: marks.version, width, received: marks.histogram(whole.first, whole.last, bins, false), derived: marks.histogram(whole.first, whole.last, bins, true) };
    }
    pen.fillStyle = colours.page;
    pen.fillRect(0, 0, width, OVERVIEW);
    const most = Math.log1p(Math.max(1, ...this.binned.received, ...this.binned.derived)), half = OVERVIEW / 2;
    for (const [counts, colour, base, way] of [[this.binned.received, colours.muted, half, -1], [this.binned.derived, colours.accent, half, 1]]) {
      pen.fillStyle = colour;
      for (let i = 0; i < counts.length; i++) {
        if (!counts[i]) continue;
        const height = 2 + ((half - 4) * Math.log1p(counts[i])) / most;
        pen.fillRect(i * 3, way < 0 ? base - height : base, 2.4, height);
      }
    }
    const [a, b] = this.window(whole, width);
    pen.fillStyle = colours.pane;
    pen.globalAlpha = 0.72;
    pen.fillRect(0, 0, a, OVERVIEW);
    pen.fillRect(b, 0, width - b, OVERVIEW);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.accent;
    if (b - a < width - 3) pen.strokeRect(a + 0.5, 0.5, Math.max(b - a - 1, 1), OVERVIEW - 1.5);
    this.line(OVERVIEW - 1, colours.line);
  }

  /** The range of the view in the overview, in pixels. */
  window(whole = this.whole(), width = this.width) {
    const scale = width / (whole.last - whole.first);
    const clip = (x) => Math.min(Math.max(x, 0), width);
    return [clip((this.view.first - whole.first) * scale), clip((this.view.last - whole.first) * scale)];
  }

  drawLane(place, top) {
    const { pen, marks, colours, view } = this, { lane } = place, colour = colours["kind" + lane.colour];
    const width = Math.ceil(this.width), columns = (this.columns?.length === width ? this.columns : (this.columns = new Uint16Array(width))).fill(0);
    const ids = marks.sorted(lane), scale = (this.width - 2 * EDGE) / this.span, { size, starts, ends } = marks, seen = [];
    this.line(top + place.height - 0.5, colours.soft);
    let bars = 0;
    const from = marks.from(lane, view.first - 10 / scale), beyond = view.last + lane.longest + 10 / scale;
    for (let i = from; i < lane.count; i++) {
      const slot = ids[i] % size, end = ends[slot];
      if (end > beyond) break;
      if (starts[slot] > view.last + 10 / scale) continue;
      const column = (EDGE + (end - view.first) * scale) | 0;
      if (column < width) columns[Math.max(column, 0)]++;
      if (starts[slot] < end) bars++;
      seen.push(ids[i]);
    }
    this.visible += seen.length;
    const crowded = bars > 3000;
    const alone = crowded || place.lane.folded ? [] : seen.filter((id) => {
      const column = (EDGE + (ends[id % size] - view.first) * scale) | 0;
      return column >= width || columns[Math.max(column, 0)] <= FEW;
    });
    pen.globalAlpha = this.dim(0.85);
    pen.fillStyle = colour;
    const most = place.height - 8, bottom = top + place.height - 4;
    for (let x = 0; x < width; x++) {
      if (columns[x] > (crowded || lane.folded ? 0 : FEW)) {
        const height = Math.min(most, 4 + Math.log2(columns[x]) * 3.2);
        const alone = !(columns[x - 1] > FEW) && !(columns[x + 1] > FEW);
        pen.fillRect(alone ? x - 1 : x, bottom - height, alone ? 3 : 1, height);
      }
    }
    this.drawMarks(place, alone, colour);
    if (alone.length && alone.length === seen.length && alone.length <= 120 && this.chosen === null) this.drawLabels(place, alone);
    pen.globalAlpha = 1;
  }

  dim(alpha) { return this.before ? alpha * 0.45 : this.chosen !== null ? alpha * 0.25 : alpha; }

  drawMarks(place, ids, colour) {
    const { pen, marks } = this, { lane } = place, thin = lane.rows > 1 ? 3.2 : 4;
    pen.fillStyle = pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.globalAlpha = this.dim(lane.derived ? 0.75 : 0.5);
    pen.beginPath();
    for (const id of ids) {
      const start = marks.start(id), end = marks.end(id);
      if (start === end) continue;
      const a = Math.max(this.xOf(start), -20), b = Math.min(this.xOf(end), this.width + 20), y = this.middle(place, id);
      if (lane.derived) { pen.moveTo(a, y - 4); pen.lineTo(a, y + 4); pen.moveTo(a, y); pen.lineTo(b, y); } else pen.roundRect(a, y - 4, Math.max(b - a, 2), 8, 3);
    }
    if (lane.derived) pen.stroke(); else pen.fill();
    pen.globalAlpha = this.dim(1);
    pen.beginPath();
    const hollow = [];
    for (const id of ids) {
      if (!lane.derived && marks.start(id) !== marks.end(id)) continue;
      if (marks.record(id)?.retracted) hollow.push(id); else shape(pen, lane.derived, this.xOf(marks.end(id)), this.middle(place, id), thin);
    }
    pen.fill();
    for (const id of hollow) { // taken back: hollow and struck
      const x = this.xOf(marks.end(id)), y = this.middle(place, id);
      pen.lineWidth = 1.5;
      pen.beginPath();
      shape(pen, lane.derived, x, y, thin);
      pen.moveTo(x - 7, y + 4);
      pen.lineTo(x + 7, y - 4);
      pen.stroke();
    }
  }

  drawLabels(place, ids, plate = false) {
    const { pen, marks, colours } = this, waiting = new Map();
    pen.font = `11px ${this.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillStyle = colours.muted;
    pen.globalAlpha = this.dim(1);
    const put = (label, limit) => {
      if (!label || label.x + label.width >= limit) return;
      if (plate) { pen.fillStyle = colours.pane; pen.fillRect(label.x - 3, label.y - 8, label.width + 6, 16); pen.fillStyle = colours.ink; }
      pen.fillText(label.text, label.x, label.y);
    };
    for (const id of ids) {
      const row = place.lane.rows > 1 ? marks.row(id) : 0, left = this.xOf(marks.start(id)) - 8;
      put(waiting.get(row), left);
      const text = (marks.record(id)?.short ?? "").slice(0, 40);
      waiting.set(row, text && { text, x: this.xOf(marks.end(id)) + (plate ? 13 : 8), y: this.middle(place, id) + 0.5, width: pen.measureText(text).width });
    }
    for (const label of waiting.values()) put(label, this.width - 4);
  }

  /** The chosen mark, what it is made of, and curves from these to it. */
  drawLinks() {
    const { pen, marks, colours, chosen } = this;
    if (!marks.has(chosen)) return;
    const at = (id) => {
      const place = this.placeOf(marks.laneFor(id));
      return place && { place, x: this.xOf(marks.end(id)), y: this.middle(place, id) };
    };
    const target = at(chosen), parts = this.parts.filter((id) => marks.has(id) && id !== chosen);
    pen.lineWidth = 1.5;
    for (const id of parts) {
      const from = at(id);
      if (!from || !target) continue;
      pen.strokeStyle = colours.accent;
      pen.globalAlpha = 0.75;
      pen.beginPath();
      pen.moveTo(from.x, from.y);
      const bend = (target.y - from.y) * 0.55;
      pen.bezierCurveTo(from.x, from.y + bend, target.x, target.y - bend, target.x, target.y);
      pen.stroke();
    }
    const { chosen: kept } = this;
    this.chosen = null; // drawn in full, not dimmed
    const shown = Map.groupBy([...parts, kept].sort((a, b) => marks.end(a) - marks.end(b)), (id) => this.placeOf(marks.laneFor(id)));
    for (const [place, ids] of shown) {
      if (!place) continue;
      this.drawMarks(place, ids, colours["kind" + place.lane.colour]);
      this.drawLabels(place, ids, true);
    }
    this.chosen = kept;
    if (!target) return;
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(target.x, target.y, 9, 0, 7);
    pen.stroke();
  }

  /** What a why-not has found missing, as a dashed bar; blockers as crosses. */
  drawGhost() {
    const { pen, colours, ghost } = this;
    if (!ghost) return;
    pen.strokeStyle = colours.error;
    pen.lineWidth = 1.5;
    for (const { lane, from, to } of ghost.missing) {
      const place = this.placeOf(lane);
      if (!place) continue;
      const y = HEAD + place.top - this.scroll + place.height / 2;
      const a = Math.max(this.xOf(Math.max(from, this.view.first - this.span)), 2), b = Math.min(this.xOf(Math.min(to, this.view.last + this.span)), this.width - 2);
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.roundRect(a, y - 8, Math.max(b - a, 8), 16, 4);
      pen.stroke();
      pen.setLineDash([]);
    }
    for (const id of ghost.blockers) {
      const place = this.marks.has(id) && this.placeOf(this.marks.laneFor(id));
      if (!place) continue;
      const x = this.xOf(this.marks.end(id)), y = this.middle(place, id);
      pen.lineWidth = 2;
      pen.beginPath();
      for (const way of [-1, 1]) { pen.moveTo(x - 7, y - 7 * way); pen.lineTo(x + 7, y + 7 * way); }
      pen.stroke();
    }
  }

  /** What is at a point: {lane, id} of the nearest mark within reach, {lane} of an empty place, or null. */
  at(x, y) {
    const inside = y - HEAD + this.scroll, place = this.places.find((each) => inside >= each.top && inside < each.top + each.height);
    if (y < HEAD || !place?.lane) return null;
    const { marks } = this, { lane } = place, ids = marks.sorted(lane), reach = (9 / (this.width - 2 * EDGE)) * this.span, time = this.timeAt(x);
    let best = null, least = Infinity;
    for (let i = marks.from(lane, time - reach); i < lane.count; i++) {
      const id = ids[i], end = marks.end(id), start = marks.start(id);
      if (end > time + reach + lane.longest) break;
      if (start > time + reach) continue;
      const along = end <= time + reach ? Math.abs(this.xOf(end) - x) : 4; // on its bar
      const across = lane.rows > 1 && !lane.folded ? Math.abs(this.middle(place, id) - y) : 0;
      if (across < ROW && along + across * 2 < least) { least = along + across * 2; best = id; }
    }
    return least <= 18 ? { lane, id: best } : { lane, id: null };
  }
}

function shape(pen, derived, x, y, size) {
  if (derived) {
    const r = size * 1.35;
    pen.moveTo(x, y - r);
    pen.lineTo(x + r, y);
    pen.lineTo(x, y + r);
    pen.lineTo(x - r, y);
    pen.closePath();
  } else { pen.moveTo(x + size, y); pen.arc(x, y, size, 0, 6.2832); }
}
