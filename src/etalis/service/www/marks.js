// All marks of the time line: starts, ends and lanes in typed arrays, a ring of the latest 200,000; the numbers of a
// lane's marks are sorted by end, so that what is visible is found by bisection. What a mark stands for is its record.

export const MOST = 200_000;
const LARGEST = 1 << 18; // slots of the ring
export const ROWS = 6; // rows of bars in a lane; what has no room there is in row 6

class Lane {
  constructor(name, derived, colour) {
    this.name = name;
    this.derived = derived;
    this.colour = colour;
    this.folded = this.hidden = false;
    this.clear();
  }

  clear() {
    this.ids = new Uint32Array(64);
    this.count = 0; // of the ring
    this.total = 0; // ever
    this.longest = 0;
    this.rows = 1;
    this.ends = []; // of the last bar in each row
    this.sorted = true;
  }

  add(id) {
    if (this.count === this.ids.length) {
      const larger = new Uint32Array(this.count * 2);
      larger.set(this.ids);
      this.ids = larger;
    }
    this.ids[this.count++] = id;
    this.total++;
  }
}

export class Marks {
  constructor() {
    this.lanes = [];
    this.byName = new Map();
    this.clear();
  }

  /** Forget all marks; lanes keep their order and colour for the next run. */
  clear() {
    this.size = 4096;
    this.starts = new Float64Array(this.size);
    this.ends = new Float64Array(this.size);
    this.laneOf = new Uint16Array(this.size);
    this.rowOf = new Uint8Array(this.size);
    this.records = new Array(this.size);
    this.next = 0;
    this.first = 0; // the oldest that is kept
    this.low = Infinity;
    this.high = -Infinity;
    this.version = (this.version ?? 0) + 1;
    for (const lane of this.lanes) lane.clear();
  }

  /** Forget marks and lanes. */
  reset() {
    this.lanes = [];
    this.byName.clear();
    this.clear();
  }

  lane(name, derived) {
    const key = (derived ? "d:" : "r:") + name;
    let lane = this.byName.get(key);
    if (!lane) {
      lane = new Lane(name, derived, this.lanes.length % 8);
      lane.index = this.lanes.length;
      this.byName.set(key, lane);
      this.lanes.push(lane);
    }
    return lane;
  }

  /** The colour of a derived kind, if it has a lane. */
  colourOf(name) { return this.byName.get("d:" + name)?.colour ?? 0; }

  add(lane, start, end, record) {
    if (this.next === this.size && this.size < LARGEST) this.grow();
    const id = this.next++, slot = id % this.size;
    this.starts[slot] = start;
    this.ends[slot] = end;
    this.laneOf[slot] = lane.index;
    this.records[slot] = record;
    this.rowOf[slot] = start < end || lane.longest > 0 ? rowFor(lane, start, end) : 0;
    if (lane.count && end < this.ends[lane.ids[lane.count - 1] % this.size]) lane.sorted = false;
    lane.add(id);
    lane.longest = Math.max(lane.longest, end - start);
    this.low = Math.min(this.low, start);
    this.high = Math.max(this.high, end);
    this.version++;
    if (this.next - this.first > MOST + 20_000) this.trim();
    return id;
  }

  grow() {
    const size = this.size * 2;
    for (const name of ["starts", "ends", "laneOf", "rowOf"]) {
      const larger = new this[name].constructor(size);
      larger.set(this[name]);
      this[name] = larger;
    }
    this.records.length = size;
    this.size = size;
  }

  /** Let go of what is older than the latest 200,000. */
  trim() {
    const first = this.next - MOST;
    for (let id = this.first; id < first; id++) this.records[id % this.size] = undefined;
    this.first = first;
    this.low = Infinity;
    for (const lane of this.lanes) {
      const kept = lane.ids.subarray(0, lane.count).filter((id) => id >= first);
      lane.ids = kept.length ? kept : new Uint32Array(64);
      lane.count = kept.length;
      for (const id of kept) this.low = Math.min(this.low, this.starts[id % this.size]);
    }
  }

  /** The numbers of a lane's marks, sorted by end. */
  sorted(lane) {
    if (!lane.sorted) {
      const { ends, size } = this;
      lane.ids.subarray(0, lane.count).sort((a, b) => ends[a % size] - ends[b % size] || a - b);
      lane.sorted = true;
    }
    return lane.ids;
  }

  /** The place among a lane's marks of the first that ends at `time` or later. */
  from(lane, time) {
    const ids = this.sorted(lane);
    let low = 0, high = lane.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[ids[middle] % this.size] < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  has(id) { return id !== null && id >= this.first && id < this.next; }
  record(id) { return this.records[id % this.size]; }
  start(id) { return this.starts[id % this.size]; }
  end(id) { return this.ends[id % this.size]; }
  row(id) { return this.rowOf[id % this.size]; }
  laneFor(id) { return this.lanes[this.laneOf[id % this.size]]; }
  get count() { return this.next - this.first; }

  /** Lanes as they are shown: received above, derived below, without those that are hidden. */
  shown() {
    const found = this.lanes.filter((lane) => !lane.hidden);
    return [...found.filter((lane) => !lane.derived), ...found.filter((lane) => lane.derived)];
  }

  /** How many marks end in each of `width` columns of the time from `first` to `last`. */
  histogram(first, last, width, derived) {
    const counts = new Uint32Array(width), scale = width / (last - first || 1), { ends, size } = this;
    for (const lane of this.lanes) {
      if (lane.derived !== derived) continue;
      const ids = lane.ids;
      for (let i = 0; i < lane.count; i++) counts[Math.min(((ends[ids[i] % size] - first) * scale) | 0, width - 1)]++;
    }
    return counts;
  }
}

function rowFor(lane, start, end) {
  let row = 0;
  while (row < ROWS && lane.ends[row] !== undefined && lane.ends[row] > start) row++;
  if (row < ROWS) lane.ends[row] = end;
  lane.rows = Math.max(lane.rows, Math.min(row + 1, ROWS));
  return row;
}
