// The list of lanes beside the canvas: elements, so that it can be focused, folded, hidden and dragged; and what the
// mouse, fingers and keys do on the time line.
import { clear, el, icon, plural, say, svg } from "./dom.js";
import { HEAD, OVERVIEW, RULE } from "./timeline.js";
import { spanText } from "./times.js";

export class Lanes {
  constructor(list, timeline, actions) {
    this.list = list;
    this.timeline = timeline;
    this.marks = timeline.marks;
    this.actions = actions;
    this.current = null; // the lane of the keys
    this.drawn = "";
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    timeline.canvas.parentElement.append(this.tip);
    list.addEventListener("scroll", () => { timeline.scroll = list.scrollTop; timeline.redraw(); });
    timeline.onDraw = () => this.refresh();
    this.listen();
  }

  /** Bring the list up to date with the lanes; elements are made anew only when lanes change. */
  refresh() {
    const places = this.timeline.places;
    const now = places.map((place) => (place.rule ? "-" : `${place.lane.index}:${place.height}:${place.lane.folded}`)).join() + "|" + this.marks.lanes.filter((lane) => lane.hidden).length;
    if (now !== this.drawn) { this.drawn = now; this.build(places); }
    for (const { lane } of places) if (lane?.counted) {
      const text = lane.total.toLocaleString("en");
      if (lane.counted.textContent !== text) lane.counted.textContent = text;
    }
    this.actions.onDraw();
  }

  build(places) {
    const focused = document.activeElement?.dataset?.lane, hidden = this.marks.lanes.filter((lane) => lane.hidden);
    clear(this.list, places.map((place) => (place.rule ? ruleItem() : this.item(place.lane, place.height))),
      hidden.length > 0 && el("li", { class: "more" }, el("button", { type: "button", onclick: () => { for (const lane of hidden) lane.hidden = false; this.timeline.redraw(); } }, `Show ${plural(hidden.length, "hidden lane")}`)));
    if (focused) this.list.querySelector(`[data-lane="${focused}"]`)?.focus();
  }

  /** Light the lanes of some kinds. */
  light(kinds = new Set()) {
    this.lit = kinds;
    for (const lane of this.marks.lanes) this.list.querySelector(`[data-lane="${lane.index}"]`)?.parentElement.classList.toggle("lit", kinds.has(lane.name));
  }

  item(lane, height) {
    const sort = lane.derived ? "derived" : "received";
    lane.counted = el("span", { class: "count" });
    const item = el("li", { class: `lane ${sort}${lane.folded ? " folded" : ""}${this.lit?.has(lane.name) ? " lit" : ""}`, draggable: "true" },
      el("button", { type: "button", class: "named", "data-lane": lane.index, "aria-expanded": String(!lane.folded), title: `${lane.name}, ${sort}: fold or unfold`, onclick: () => this.fold(lane) },
        swatch(lane.colour, lane.derived), el("span", { class: "label" }, lane.name.replace(/\/\d+$/, ""), el("small", {}, /\/\d+$/.exec(lane.name)?.[0])), lane.counted),
      el("button", { type: "button", class: "hide", "aria-label": `Hide ${lane.name}`, title: "Hide", onclick: () => { lane.hidden = true; this.timeline.redraw(); } }, icon("close")));
    item.style.height = `${height}px`;
    item.addEventListener("dragstart", (event) => { this.dragged = lane; event.dataTransfer.effectAllowed = "move"; event.dataTransfer.setData("text/plain", lane.name); });
    item.addEventListener("dragover", (event) => { if (this.dragged?.derived === lane.derived) event.preventDefault(); });
    item.addEventListener("drop", (event) => { event.preventDefault(); this.shift(this.dragged, lane); this.dragged = null; });
    return item;
  }

  fold(lane) {
    lane.folded = !lane.folded;
    this.timeline.redraw();
  }

  /** Put a lane in the place of another of its sort. */
  shift(lane, target) {
    if (!lane || lane === target || lane.derived !== target.derived) return;
    const { lanes } = this.marks, to = lanes.indexOf(target);
    lanes.splice(lanes.indexOf(lane), 1);
    lanes.splice(to, 0, lane);
    // marks name lanes by their place
    const places = new Map(lanes.map((each, place) => [each.index, place]));
    for (let i = 0; i < this.marks.size; i++) this.marks.laneOf[i] = places.get(this.marks.laneOf[i]) ?? 0;
    lanes.forEach((each, place) => { each.index = place; });
    this.drawn = "";
    this.timeline.redraw();
  }

  listen() {
    const { timeline } = this, { canvas } = timeline, pointers = new Map();
    let drag = null, pinch = 0;
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = at(event);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return timeline.pan(event.deltaX || event.deltaY);
      if (y < HEAD || event.ctrlKey || !event.altKey) return timeline.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), x);
      this.list.scrollTop += event.deltaY;
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.setPointerCapture(event.pointerId);
      const [x, y] = at(event);
      pointers.set(event.pointerId, [x, y]);
      drag = { x, y, fromX: x, fromY: y, moved: false, brush: y < OVERVIEW };
      this.hideTip();
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      if (!pointers.has(event.pointerId)) return this.hover(x, y);
      pointers.set(event.pointerId, [x, y]);
      if (pointers.size === 2) {
        const [[a], [b]] = [...pointers.values()], apart = Math.max(Math.abs(a - b), 10);
        if (pinch) timeline.zoom(pinch / apart, (a + b) / 2);
        pinch = apart;
        drag.moved = true;
        return;
      }
      drag.moved ||= Math.hypot(x - drag.fromX, y - drag.fromY) > 4;
      if (!drag.moved) return;
      if (drag.brush) this.brush(drag.fromX, x);
      else {
        timeline.pan(drag.x - x);
        this.list.scrollTop += drag.y - y;
      }
      [drag.x, drag.y] = [x, y];
    });
    const up = (event) => {
      const [x, y] = at(event), wasDrag = drag;
      pointers.delete(event.pointerId);
      pinch = 0;
      if (pointers.size || !wasDrag) return;
      drag = null;
      if (!wasDrag.moved && event.type === "pointerup") this.click(x, y);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.hideTip());
    canvas.addEventListener("dblclick", () => timeline.fit());
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  /** Choose a range on the overview. */
  brush(from, to) {
    const whole = this.timeline.whole(), scale = (whole.last - whole.first) / this.timeline.width;
    const [a, b] = [Math.min(from, to), Math.max(from, to)];
    if (b - a > 3) this.timeline.move(whole.first + a * scale, whole.first + b * scale);
  }

  click(x, y) {
    const { timeline } = this;
    if (y < OVERVIEW) {
      const whole = timeline.whole(), time = whole.first + (x / timeline.width) * (whole.last - whole.first);
      return timeline.move(time - timeline.span / 2, time + timeline.span / 2);
    }
    const found = timeline.at(x, y);
    if (!found) return this.actions.choose(null);
    this.current = found.lane;
    if (found.id !== null) return this.actions.choose(found.id);
    const time = timeline.timeAt(x), around = Math.max(timeline.span * 0.1, 1e-6), fine = 10 ** Math.floor(Math.log10(timeline.span / 100));
    const round = (t) => Number((Math.round(Math.min(Math.max(t, this.marks.low), Math.max(this.marks.high, time)) / fine) * fine).toPrecision(15));
    if (found.lane.derived) this.actions.askWhyNot(found.lane, round(time - around), round(time + around));
    else this.actions.choose(null);
  }

  hover(x, y) {
    const found = y < OVERVIEW ? null : this.timeline.at(x, y);
    this.timeline.canvas.style.cursor = y < OVERVIEW ? "crosshair" : found?.id != null ? "pointer" : found?.lane.derived ? "help" : "grab";
    if (found?.id == null) return this.hideTip();
    const { marks, tip } = this, record = marks.record(found.id);
    if (!record) return this.hideTip();
    clear(tip, el("strong", {}, record.text), el("span", {}, spanText(record.start, record.end, this.timeline.dates)), record.rule && el("span", {}, `rule ${record.rule}`));
    tip.hidden = false;
    tip.style.left = `${Math.max(Math.min(x + 14, this.timeline.width - tip.offsetWidth - 6), 4)}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > this.timeline.height ? y - tip.offsetHeight - 10 : y + 18}px`;
  }

  /** Scroll to the lane of a mark. */
  reveal(id) {
    const place = this.timeline.layout().find((each) => each.lane === this.marks.laneFor(id)), room = this.timeline.height - HEAD;
    if (!place || room <= 0) return;
    const { scrollTop } = this.list;
    if (place.top < scrollTop || place.top + place.height > scrollTop + room) this.list.scrollTop = Math.max(place.top + place.height - room, 0);
  }

  hideTip() { this.tip.hidden = true; }

  key(event) {
    const { timeline } = this, lanes = this.marks.shown();
    if (event.ctrlKey || event.metaKey) return;
    const inButton = event.target.tagName === "BUTTON", focused = event.target.dataset.lane;
    const steps = {
      ArrowRight: () => (event.shiftKey ? timeline.pan(80) : this.step(1)),
      ArrowLeft: () => (event.shiftKey ? timeline.pan(-80) : this.step(-1)),
      ArrowDown: () => (event.altKey ? this.carry(1) : this.walk(lanes, 1)),
      ArrowUp: () => (event.altKey ? this.carry(-1) : this.walk(lanes, -1)),
      "+": () => timeline.zoom(0.7),
      "=": () => timeline.zoom(0.7),
      "-": () => timeline.zoom(1 / 0.7),
      0: () => timeline.fit(),
      Home: () => this.step(-Infinity),
      End: () => this.step(Infinity),
    };
    if (!inButton) steps.Enter = () => (timeline.chosen !== null ? this.actions.why() : this.askHere());
    if (!steps[event.key]) return;
    if (focused !== undefined) this.current = this.marks.lanes[Number(focused)];
    event.preventDefault();
    event.stopPropagation();
    steps[event.key]();
  }

  /** The next event of the lane, or the one before. */
  step(by) {
    const { marks, timeline } = this, { chosen } = timeline;
    const lane = marks.has(chosen) ? marks.laneFor(chosen) : this.current ?? marks.shown().find((each) => each.count);
    if (!lane?.count) return say("no events here");
    const ids = marks.sorted(lane), now = marks.has(chosen) ? ids.subarray(0, lane.count).indexOf(chosen) : -1;
    const next = now < 0 ? (by > 0 && by !== Infinity ? marks.from(lane, timeline.view.first) : lane.count - 1) : now + by;
    const id = ids[Math.min(Math.max(next, 0), lane.count - 1)];
    this.current = lane;
    this.actions.choose(id);
    timeline.reveal(id);
  }

  /** The next lane: its event nearest to the chosen one. */
  walk(lanes, by) {
    const { marks, timeline } = this, { chosen } = timeline;
    const now = lanes.indexOf(marks.has(chosen) ? marks.laneFor(chosen) : this.current);
    for (let at = now + by; at >= 0 && at < lanes.length; at += by) {
      const lane = lanes[at];
      this.current = lane;
      const target = this.list.querySelector(`[data-lane="${lane.index}"]`);
      if (document.activeElement?.dataset?.lane) target?.focus();
      if (!lane.count) { say(`${lane.name}: no events`); this.actions.choose(null); return; }
      const time = marks.has(chosen) ? marks.end(chosen) : timeline.view.first, ids = marks.sorted(lane);
      const place = Math.min(marks.from(lane, time), lane.count - 1);
      this.actions.choose(ids[place]);
      timeline.reveal(ids[place]);
      return;
    }
  }

  /** Move the current lane up or down. */
  carry(by) {
    const lanes = this.marks.shown().filter((lane) => lane.derived === this.current?.derived), target = lanes[lanes.indexOf(this.current) + by];
    if (target) this.shift(this.current, target);
  }

  askHere() {
    const { timeline } = this, lane = this.current;
    if (lane?.derived) this.actions.askWhyNot(lane, timeline.view.first, timeline.view.last);
  }
}

function ruleItem() {
  const item = el("li", { class: "rule" }, "derived");
  item.style.height = `${RULE}px`;
  return item;
}

/** The sign of a kind: a dot for what is received, a diamond for what is derived, in its colour. */
export function swatch(colour, derived) {
  return svg("svg", { class: `swatch kind${colour}`, viewBox: "0 0 12 12", "aria-hidden": "true" },
    derived ? svg("path", { d: "M6 .5 11.5 6 6 11.5.5 6z" }) : svg("circle", { cx: 6, cy: 6, r: 4.5 }));
}
