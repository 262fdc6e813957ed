// What this browser keeps: device id, the room a phone is in, the Master's keys, the setup. A private window keeps it for
// this page only. Frames of the playground keep apart from each other by their window name.

const apart = /^wk-seat-[\w-]{1,20}$/.test(globalThis.window?.name || '') ? `.${window.name}` : '';
const memory = new Map();

/** Reads a value, null when there is none. */
export function read(key, store = globalThis.localStorage) {
  const name = `wk.party.${key}${apart}`;
  try {
    const text = store.getItem(name);
    return text === null ? (memory.get(name) ?? null) : JSON.parse(text);
  } catch {
    return memory.get(name) ?? null;
  }
}

/** Keeps a value; null forgets it. */
export function keep(key, value, store = globalThis.localStorage) {
  const name = `wk.party.${key}${apart}`;
  if (value === null) memory.delete(name);
  else memory.set(name, value);
  try {
    if (value === null) store.removeItem(name);
    else store.setItem(name, JSON.stringify(value));
  } catch {
    /* private window or full: this page only */
  }
}

export const readTab = (key) => read(key, tab());
export const keepTab = (key, value) => keep(key, value, tab());
function tab() {
  try {
    return globalThis.sessionStorage;
  } catch {
    return null;
  }
}

/** A UUID version 4; `crypto.randomUUID` is missing on plain http. */
export function uuid() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const x = [...b].map((n) => n.toString(16).padStart(2, '0')).join('');
  return `${x.slice(0, 8)}-${x.slice(8, 12)}-${x.slice(12, 16)}-${x.slice(16, 20)}-${x.slice(20)}`;
}

/** This device's secret: whoever knows it votes as its owner. */
export function deviceId() {
  let id = read('device');
  if (typeof id !== 'string' || !/^[A-Za-z0-9_-]{8,128}$/.test(id)) {
    id = uuid();
    keep('device', id);
  }
  return id;
}

/** Rooms this browser can direct: code → {key, expires_at, join_url, rounds, reels}; ended ones are dropped. */
export function masters(now = Date.now()) {
  const all = read('masters') || {};
  const alive = Object.fromEntries(Object.entries(all).filter(([, m]) => m?.key && !(m.expires_at < now)));
  if (Object.keys(alive).length !== Object.keys(all).length) keep('masters', Object.keys(alive).length ? alive : null);
  return alive;
}
export const keepMaster = (code, facts) => keep('masters', { ...masters(), [code]: { ...masters()[code], ...facts } });
export function forgetMaster(code) {
  const { [code]: _, ...rest } = masters();
  keep('masters', Object.keys(rest).length ? rest : null);
}

/** `abcd 2345`, `ABCD-2345` → `ABCD2345`; null when it cannot be a code. */
export function readCode(text) {
  const code = String(text ?? '')
    .replace(/[\s-]+/g, '')
    .toUpperCase();
  return /^[A-Z0-9]{4,12}$/.test(code) ? code : null;
}

/** `ABCD-2345`, for people. */
export const showCode = (code) => (code?.length === 8 ? `${code.slice(0, 4)}-${code.slice(4)}` : code || '');
