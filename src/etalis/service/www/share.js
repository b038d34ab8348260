// A session in an address: what is behind # never reaches the service. Deflated and in base64url; larger ones are files.
const LONGEST = 8000;
const KEYS = { name: "n", language: "l", program: "p", background: "b", events: "e", policy: "y", chosen: "s", range: "r" };

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** A session as text for an address. */
export async function pack(session) {
  const plain = Object.fromEntries(Object.entries(KEYS).filter(([name]) => session[name] !== undefined && session[name] !== null && session[name] !== "").map(([name, key]) => [key, session[name]]));
  const bytes = await through(new TextEncoder().encode(JSON.stringify({ v: 1, ...plain })), new CompressionStream("deflate-raw"));
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The session that `pack` has made text of; null if it is none. */
export async function unpack(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return fromPlain(JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")))));
  } catch {
    return null;
  }
}

function fromPlain(plain) {
  if (plain?.v !== 1 || typeof (plain.p ?? "") !== "string" || typeof (plain.e ?? "") !== "string" || typeof (plain.b ?? "") !== "string") return null;
  return Object.fromEntries(Object.entries(KEYS).map(([name, key]) => [name, plain[key] ?? null]));
}

/** The address of a session, or null where it would be too long. */
export async function address(session) {
  const text = await pack(session);
  return text.length > LONGEST ? null : `${location.origin}${location.pathname}#${text}`;
}

export const fileOf = (session) => JSON.stringify({ etalis: 1, ...session }, null, 1);

/** The session in the text of a file `name.etalis.json`; null if it is none. */
export function sessionOf(text) {
  try {
    const plain = JSON.parse(text);
    if (plain?.etalis !== 1 || typeof plain.program !== "string") return null;
    return { name: plain.name ?? null, language: plain.language ?? "rules", program: plain.program, background: String(plain.background ?? ""), events: String(plain.events ?? ""), policy: plain.policy ?? null, chosen: plain.chosen ?? null, range: plain.range ?? null };
  } catch {
    return null;
  }
}
