// Times as people read them: dates in UTC where dates came in, else durations since 0; and the ticks of an axis.

const pad = (n, digits = 2) => String(n).padStart(digits, "0");
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 15552000, 31536000];
const DAY = 86400;

/** The parts of a number of seconds since 1970, in UTC; rounded to the microsecond. */
function calendar(t) {
  const micros = Math.round((t - Math.floor(t)) * 1e6);
  const date = new Date((Math.floor(t) + (micros === 1e6 ? 1 : 0)) * 1000);
  return { date, micros: micros % 1e6 };
}

const fraction = (micros) => (micros ? "." + pad(micros, 6).replace(/0+$/, "") : "");

/** A time in full: `2026-03-02 09:05:00`, or `1 h 30 min`. */
export function timeText(t, dates) {
  if (!Number.isFinite(t)) return t > 0 ? "the end" : "the beginning";
  if (!dates) return durationText(t);
  const { date, micros } = calendar(t);
  if (Number.isNaN(date.getTime())) return String(t);
  return `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())} ${clockText(date, true)}${fraction(micros)}`;
}

const clockText = (date, seconds) => `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}${seconds ? ":" + pad(date.getUTCSeconds()) : ""}`;

/** `90` as `1 min 30 s`; below a minute with its decimals. */
export function durationText(seconds, most = 9) {
  const sign = seconds < 0 ? "−" : "";
  let rest = Math.round(Math.abs(seconds) * 1e6) / 1e6;
  if (rest === 0) return "0";
  if (rest < 60) return sign + trim(rest) + " s";
  const parts = [];
  for (const [size, unit] of [[DAY, "d"], [3600, "h"], [60, "min"]]) {
    const n = Math.floor(rest / size);
    if (n) parts.push(`${n} ${unit}`);
    rest -= n * size;
  }
  rest = Math.round(rest * 1e6) / 1e6;
  if (rest) parts.push(trim(rest) + " s");
  return sign + parts.slice(0, most).join(" ");
}

const trim = (n) => String(Number(n.toPrecision(12)));

/** An interval, told once where it is a moment; the day is not told twice. */
export function spanText(start, end, dates) {
  if (start === end) return timeText(end, dates);
  const [from, to] = [timeText(start, dates), timeText(end, dates)];
  return `${from} – ${dates && from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`;
}

/** An interval for a table, as its beginning (empty for a moment) and its end; the day only where there are several. */
export function cellTexts(start, end, dates, several) {
  const text = (t) => { const full = timeText(t, dates); return !dates ? full : several ? full.slice(5) : full.slice(11); };
  const sameDay = dates && Math.floor(start / DAY) === Math.floor(end / DAY);
  return start === end ? ["", text(end)] : [`${text(start)} – `, sameDay ? timeText(end, true).slice(11) : text(end)];
}

/** Ticks of an axis: at round times, each at least `room` px from the next. */
export function ticks(first, last, width, dates, room = 84) {
  const least = ((last - first) / Math.max(width, 1)) * room;
  if (!(least > 0)) return { step: 1, ticks: [] };
  const step = least > STEPS.at(-1) ? decimal(least / STEPS.at(-1)) * STEPS.at(-1) : least < 1 ? decimal(least) : STEPS.find((each) => each >= least);
  const found = [];
  for (let n = Math.ceil(first / step); n * step <= last && found.length < 200; n++) found.push({ time: n * step, label: tickText(n * step, step, dates) });
  return { step, ticks: found };
}

function decimal(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((n) => n * power >= least * 0.999999) * power;
}

function tickText(t, step, dates) {
  if (!dates) return step < 1 && Math.abs(t) < 60 ? trim(Math.round(t / step) * step) + " s" : durationText(t);
  const { date, micros } = calendar(t);
  if (step >= 31536000) return String(date.getUTCFullYear());
  if (step >= DAY) return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  if (step >= 60 && date.getUTCHours() + date.getUTCMinutes() === 0) return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  return clockText(date, step < 60) + (step < 1 ? fraction(micros) : "");
}

/** The day on which an axis begins, for dates; empty otherwise. */
export function dayText(t, dates) {
  const { date } = calendar(t);
  return dates && !Number.isNaN(date.getTime()) ? `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}` : "";
}
