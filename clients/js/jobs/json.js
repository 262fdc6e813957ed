// Stored JSON is spliced, never written anew: members that the queue does not own keep their bytes, and numbers their
// spelling.

const SPACE = new Set([' ', '\t', '\n', '\r']);

/** @param {string} text @param {number} at */
function skip(text, at) {
  while (SPACE.has(text[at])) at += 1;
  return at;
}

/** The end of the string that begins at `at`. @param {string} text @param {number} at */
function stringEnd(text, at) {
  for (at += 1; text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
  return at + 1;
}

/** The end of the value that begins at `at`, of a text that is valid JSON. @param {string} text @param {number} at */
function valueEnd(text, at) {
  let depth = 0;
  for (; at < text.length; at += 1) {
    const c = text[at];
    if (c === '"') {
      at = stringEnd(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (c === '{' || c === '[') {
      depth += 1;
    } else if (c === '}' || c === ']') {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (c === ',' || SPACE.has(c))) {
      return at;
    }
  }
  return at;
}

/**
 * The members of an object: name, where the member begins, where its value begins and ends.
 * @param {string} text valid JSON
 * @returns {{name: string, start: number, from: number, to: number}[] | null} nothing when it is no object
 */
export function members(text) {
  let at = skip(text, 0);
  if (text[at] !== '{') return null;
  const found = [];
  at = skip(text, at + 1);
  while (text[at] === '"') {
    const start = at;
    const nameEnd = stringEnd(text, at);
    const from = skip(text, skip(text, nameEnd) + 1);
    const to = valueEnd(text, from);
    found.push({ name: JSON.parse(text.slice(start, nameEnd)), start, from, to });
    at = skip(text, to);
    if (text[at] !== ',') break;
    at = skip(text, at + 1);
  }
  return found;
}

/** The text of one member's value, or nothing. @param {string} text @param {string} name */
export function member(text, name) {
  const found = members(text)?.findLast((one) => one.name === name);
  return found && text.slice(found.from, found.to);
}

/**
 * The object with these members set to JSON texts; `null` removes one. Every other byte stays.
 * @param {string} text an object
 * @param {Record<string, string | null>} changes
 */
export function edit(text, changes) {
  const all = members(text) ?? [];
  const kept = all.filter((one) => changes[one.name] !== null);
  const known = new Set(all.map((one) => one.name));
  const added = Object.entries(changes).filter(([name, value]) => value !== null && !known.has(name));
  let out = text.slice(0, all[0]?.start ?? text.lastIndexOf('}'));
  kept.forEach((one, at) => {
    // Text between two members goes with the one before.
    const next = all[all.indexOf(one) + 1];
    const between = at + 1 < kept.length && next ? text.slice(one.to, next.start) : '';
    out += text.slice(one.start, one.from) + (changes[one.name] ?? text.slice(one.from, one.to)) + between;
  });
  const rest = added.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',');
  out += (kept.length > 0 && rest ? ',' : '') + rest;
  return out + text.slice(all.at(-1)?.to ?? text.lastIndexOf('}'));
}

/** How deep arrays and objects are nested. @param {string} text */
export function depth(text) {
  let [deep, most] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (c === '"') at = stringEnd(text, at) - 1;
    else if (c === '{' || c === '[') most = Math.max(most, ++deep);
    else if (c === '}' || c === ']') deep -= 1;
  }
  return most;
}
