// A QR code in the browser: the take-over link holds the Master's key, so no server may be asked to draw it. Byte mode,
// error correction M, versions 1 to 13 (331 bytes). `matrix(text)` gives rows of booleans, dark is true. Pure.

// Per version: error words per block, then groups of (blocks, data words each).
/** @type {any[]} */
const M = [
  null,
  [10, [1, 16]],
  [16, [1, 28]],
  [26, [1, 44]],
  [18, [2, 32]],
  [24, [2, 43]],
  [16, [4, 27]],
  [18, [4, 31]],
  [22, [2, 38], [2, 39]],
  [22, [3, 36], [2, 37]],
  [26, [4, 43], [1, 44]],
  [30, [1, 50], [4, 51]],
  [22, [6, 36], [2, 37]],
  [22, [8, 37], [1, 38]],
];
const ALIGN = [0, 0, 18, 22, 26, 30, 34, 0, 0, 0, 0, 0, 0, 0];
const ALIGN_THREE = {
  7: [6, 22, 38],
  8: [6, 24, 42],
  9: [6, 26, 46],
  10: [6, 28, 50],
  11: [6, 30, 54],
  12: [6, 32, 58],
  13: [6, 34, 62],
};

const EXP = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let i = 0, x = 1; i < 255; i += 1) {
  EXP[i] = EXP[i + 255] = x;
  LOG[x] = i;
  x = (x << 1) ^ (x & 128 ? 0x11d : 0);
}
const times = (a, b) => (a && b ? EXP[LOG[a] + LOG[b]] : 0);

/** The remainder words of a block. */
export function errorWords(data, count) {
  let poly = [1];
  for (let i = 0; i < count; i += 1) {
    const next = new Array(poly.length + 1).fill(0);
    poly.forEach((c, j) => {
      next[j] ^= c;
      next[j + 1] ^= times(c, EXP[i]);
    });
    poly = next;
  }
  const rest = [...data, ...new Array(count).fill(0)];
  for (let i = 0; i < data.length; i += 1) {
    const lead = rest[i];
    if (lead) for (let j = 0; j < poly.length; j += 1) rest[i + j] ^= times(poly[j], lead);
  }
  return rest.slice(data.length);
}

const room = (v) => M[v].slice(1).reduce((n, [blocks, words]) => n + blocks * words, 0);

function words(bytes, version) {
  const bits = [];
  const push = (value, n) => {
    for (let i = n - 1; i >= 0; i -= 1) bits.push((value >> i) & 1);
  };
  push(4, 4);
  push(bytes.length, version < 10 ? 8 : 16);
  for (const b of bytes) push(b, 8);
  const total = room(version) * 8;
  push(0, Math.min(4, total - bits.length));
  while (bits.length % 8) bits.push(0);
  for (let pad = 0xec; bits.length < total; pad ^= 0xec ^ 0x11) push(pad, 8);
  const data = [];
  for (let i = 0; i < bits.length; i += 8) data.push(parseInt(bits.slice(i, i + 8).join(''), 2));

  const [count, ...groups] = M[version];
  const blocks = [];
  let at = 0;
  for (const [n, size] of groups)
    for (let i = 0; i < n; i += 1) {
      const part = data.slice(at, at + size);
      blocks.push({ part, error: errorWords(part, count) });
      at += size;
    }
  const out = [];
  const longest = Math.max(...blocks.map((b) => b.part.length));
  for (let i = 0; i < longest; i += 1) for (const b of blocks) if (i < b.part.length) out.push(b.part[i]);
  for (let i = 0; i < count; i += 1) for (const b of blocks) out.push(b.error[i]);
  return out;
}

/** Remainder of a binary polynomial, for the format and version bits. */
function bch(value, poly, bits) {
  let rest = value << bits;
  const top = Math.floor(Math.log2(poly));
  for (let i = Math.floor(Math.log2(rest || 1)); i >= top; i -= 1) if ((rest >> i) & 1) rest ^= poly << (i - top);
  return (value << bits) | rest;
}

const MASKS = [
  (r, c) => (r + c) % 2 === 0,
  (r) => r % 2 === 0,
  (_r, c) => c % 3 === 0,
  (r, c) => (r + c) % 3 === 0,
  (r, c) => (Math.floor(r / 2) + Math.floor(c / 3)) % 2 === 0,
  (r, c) => ((r * c) % 2) + ((r * c) % 3) === 0,
  (r, c) => (((r * c) % 2) + ((r * c) % 3)) % 2 === 0,
  (r, c) => (((r + c) % 2) + ((r * c) % 3)) % 2 === 0,
];

/** Finders, timing, alignment and the version; null where data goes, reserved format cells are false. */
function frame(version) {
  const size = 17 + 4 * version;
  const grid = Array.from({ length: size }, () => new Array(size).fill(null));
  const box = (r0, c0, n, dark) => {
    for (let r = r0; r < r0 + n; r += 1)
      for (let c = c0; c < c0 + n; c += 1) if (grid[r]?.[c] !== undefined) grid[r][c] = dark;
  };
  for (const [r, c] of [
    [0, 0],
    [0, size - 7],
    [size - 7, 0],
  ]) {
    box(r - 1, c - 1, 9, false);
    box(r, c, 7, true);
    box(r + 1, c + 1, 5, false);
    box(r + 2, c + 2, 3, true);
  }
  const centres = ALIGN_THREE[version] || (ALIGN[version] ? [6, ALIGN[version]] : []);
  for (const r of centres)
    for (const c of centres) {
      if ((r === 6 && c === 6) || (r === 6 && c === size - 7) || (r === size - 7 && c === 6)) continue;
      box(r - 2, c - 2, 5, true);
      box(r - 1, c - 1, 3, false);
      grid[r][c] = true;
    }
  for (let i = 8; i < size - 8; i += 1) grid[6][i] = grid[i][6] = i % 2 === 0;
  for (let i = 0; i < 9; i += 1) {
    grid[8][i] ??= false;
    grid[i][8] ??= false;
  }
  for (let i = 0; i < 8; i += 1) {
    grid[8][size - 1 - i] ??= false;
    grid[size - 1 - i][8] ??= false;
  }
  grid[size - 8][8] = true;
  if (version >= 7) {
    const bits = bch(version, 0x1f25, 12);
    for (let i = 0; i < 18; i += 1) {
      const dark = ((bits >> i) & 1) === 1;
      const [a, b] = [Math.floor(i / 3), (i % 3) + size - 11];
      grid[a][b] = grid[b][a] = dark;
    }
  }
  return grid;
}

function writeFormat(grid, mask) {
  const size = grid.length;
  const bits = bch(mask, 0x537, 10) ^ 0x5412; // level M is 00, so the value is the mask alone
  const bit = (i) => ((bits >> i) & 1) === 1;
  for (let i = 0; i < 15; i += 1) {
    const row = i < 6 ? i : i < 8 ? i + 1 : size - 15 + i;
    const col = i < 8 ? size - 1 - i : i === 8 ? 7 : 14 - i;
    grid[row][8] = bit(i);
    grid[8][col] = bit(i);
  }
  grid[size - 8][8] = true;
}

/** How hard a symbol is to read, by the four rules; the mask with the least wins. */
function penalty(grid) {
  const size = grid.length;
  let score = 0;
  const lines = [grid, grid[0].map((_, c) => grid.map((row) => row[c]))];
  for (const side of lines)
    for (const line of side) {
      const text = line.map(Number).join('');
      for (const run of text.match(/0{5,}|1{5,}/g) || []) score += run.length - 2;
      for (const sign of ['10111010000', '00001011101'])
        for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) score += 40;
    }
  let dark = 0;
  for (let r = 0; r < size; r += 1)
    for (let c = 0; c < size; c += 1) {
      dark += grid[r][c];
      if (r && c && grid[r][c] === grid[r - 1][c] && grid[r][c] === grid[r][c - 1] && grid[r][c] === grid[r - 1][c - 1])
        score += 3;
    }
  return score + Math.floor(Math.abs((dark * 100) / (size * size) - 50) / 5) * 10;
}

/** The symbol of a text; throws when it is longer than 331 bytes. `mask` only for tests. */
export function matrix(text, mask) {
  const bytes = [...new TextEncoder().encode(text)];
  let version = 1;
  while (version < M.length && bytes.length > room(version) - (version < 10 ? 2 : 3)) version += 1;
  if (version === M.length) throw new Error('too long for a code');
  const bits = words(bytes, version).flatMap((w) => Array.from({ length: 8 }, (_, i) => (w >> (7 - i)) & 1));
  const empty = frame(version);
  const size = empty.length;
  const cells = [];
  let up = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right -= 1;
    for (let i = 0; i < size; i += 1)
      for (const c of [right, right - 1]) {
        const r = up ? size - 1 - i : i;
        if (empty[r][c] === null) cells.push([r, c]);
      }
    up = !up;
  }
  const drawn = (m) => {
    const grid = empty.map((row) => [...row]);
    cells.forEach(([r, c], i) => {
      grid[r][c] = ((bits[i] || 0) === 1) !== MASKS[m](r, c);
    });
    writeFormat(grid, m);
    return grid;
  };
  if (mask !== undefined) return drawn(mask);
  return MASKS.map((_, m) => drawn(m)).reduce((best, grid) => (penalty(grid) < penalty(best) ? grid : best));
}

/** One SVG path of all dark cells, quiet zone of 4 included; `size` is the side of its view box. */
export function path(text) {
  const grid = matrix(text);
  const d = [];
  grid.forEach((row, r) => {
    for (let c = 0; c < row.length; c += 1) {
      if (!row[c]) continue;
      let end = c;
      while (row[end + 1]) end += 1;
      d.push(`M${c + 4} ${r + 4}h${end - c + 1}v1h-${end - c + 1}z`);
      c = end;
    }
  });
  return { d: d.join(''), size: grid.length + 8 };
}
