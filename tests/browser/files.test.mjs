// The files of the dashboard, without a browser: one place for colours, the same words in both languages, nothing
// inline, nothing foreign, weight per page, contrast of the tokens.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { WEB, webFile } from './kit.mjs';

const walk = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? walk(path.join(dir, e.name)) : [path.join(dir, e.name)],
  );
const files = walk(WEB).map((file) => ({ file, name: path.relative(WEB, file), text: readFileSync(file, 'utf8') }));
const only = (...ends) => files.filter((f) => ends.some((e) => f.name.endsWith(e)));

/** Code without its comments. */
const code = (text) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

test('only the two tokens.css hold colour values', () => {
  const named = 'red|green|blue|white|black|gray|grey|orange|yellow|purple|pink|brown|teal|navy|silver|gold';
  const bad = new RegExp(
    `#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\\b|\\b(?:rgba?|hsla?|oklch|oklab|lab|lch|hwb)\\(|(?:color|fill|stroke|background|border[\\w-]*)\\s*[:=]\\s*["']?(?:${named})\\b`,
    'gi',
  );
  for (const f of only('.css', '.js', '.html', '.svg')) {
    if (['base/tokens.css', 'party/tokens.css'].includes(f.name)) continue;
    const hits = [...code(f.text).matchAll(bad)].map((m) => m[0]);
    assert.deepEqual(hits, [], f.name);
  }
});

test('dark by choice and dark by system are the same values', () => {
  const css = readFileSync(path.join(WEB, 'base/tokens.css'), 'utf8');
  const block = (start) => {
    const from = css.indexOf('{', css.indexOf(start));
    return css
      .slice(from + 1, css.indexOf('}', from))
      .split(/[;\n]/)
      .map((l) => l.trim())
      .filter(Boolean)
      .sort();
  };
  assert.deepEqual(block('[data-theme=dark]'), block(':root:not([data-theme])'));
});

test('both languages have the same keys, the same holes and no empty text', async () => {
  const langs = readdirSync(path.join(WEB, 'lang'));
  const bases = new Set(langs.map((n) => n.replace(/\.?(en|fr)\.js$/, '')));
  for (const base of bases) {
    const load = async (l) => (await import(webFile('lang', base ? `${base}.${l}.js` : `${l}.js`))).default;
    const [en, fr] = [await load('en'), await load('fr')];
    assert.deepEqual(Object.keys(fr).sort(), Object.keys(en).sort());
    const holes = (v) =>
      [
        ...new Set(
          [v]
            .flat()
            .join(' ')
            .match(/\{\w+\}/g) || [],
        ),
      ].sort();
    for (const key of Object.keys(en)) {
      assert.equal(Array.isArray(fr[key]), Array.isArray(en[key]), key);
      assert.deepEqual(holes(fr[key]), holes(en[key]), key);
      for (const text of [en[key], fr[key]].flat()) assert.ok(text.trim(), key);
      for (const text of [fr[key]].flat())
        assert.ok(!/ [:;!?]/.test(text), `${key}: French has a thin space before : ; ! ?`);
    }
  }
});

test('every word that is asked for exists', async () => {
  const words = async (name) => (await import(webFile('lang', name))).default;
  const party = await words('party.en.js');
  // The dashboard has its own words and those of its modules.
  const modules = readdirSync(path.join(WEB, 'lang')).filter((n) => n.endsWith('en.js') && n !== 'party.en.js');
  const dashboard = Object.assign({}, ...(await Promise.all(modules.map(words))));
  for (const f of only('.js')) {
    const en = f.name.startsWith('party/') ? party : dashboard;
    if (f.name.startsWith('lang/')) continue;
    for (const [, key] of code(f.text).matchAll(/\b(?:t|rich)\(\s*'([\w.]+)'/g))
      assert.ok(key in en, `${f.name} asks for ${key}`);
    for (const [, key] of code(f.text).matchAll(/label: '(nav\.[\w.]+)'/g))
      assert.ok(key in en, `${f.name} asks for ${key}`);
  }
});

test('nothing is inline and nothing comes from elsewhere', () => {
  for (const f of only('.js', '.html', '.css', '.svg')) {
    const text = code(f.text);
    assert.ok(!/\sstyle\s*=\s*["'`]/.test(text), `${f.name} has a style attribute`);
    assert.ok(!/setAttribute\(\s*['"]style/.test(text), `${f.name} sets a style attribute`);
    assert.ok(
      !/\binnerHTML\b|\bouterHTML\b|insertAdjacentHTML|document\.write|\beval\(|new Function\(/.test(text),
      `${f.name} makes markup or code from text`,
    );
    const foreign = [...text.matchAll(/(?:https?:)?\/\/[a-z0-9][\w.-]+\.[a-z]{2,}/gi)]
      .map((m) => m[0])
      // The name of a language of markup, and names that never belong to anybody (RFC 2606), in what settings mean.
      .filter((u) => !u.includes('www.w3.org') && !u.endsWith('.example'));
    assert.deepEqual(foreign, [], f.name);
  }
  for (const { name, text: html } of only('.html')) {
    assert.ok(
      ![...html.matchAll(/<script\b([^>]*)>/g)].some(([, attrs]) => !attrs.includes('src=')),
      `a script without src in ${name}`,
    );
    assert.ok(!/<style\b|\son\w+=/.test(html), name);
  }
});

test('every icon that is used is in the sprite', () => {
  const sprite = new Set(
    [...readFileSync(path.join(WEB, 'base/icons.svg'), 'utf8').matchAll(/<symbol id="([\w-]+)"/g)].map((m) => m[1]),
  );
  for (const f of only('.js')) {
    const used = [...code(f.text).matchAll(/\bicon\(\s*'([\w-]+)'|(?:icon|glyph): '([\w-]+)'/g)].map(
      (m) => m[1] || m[2],
    );
    for (const name of used) assert.ok(sprite.has(name), `${f.name} uses ${name}`);
  }
});

test('each script opens by saying what it owns', () => {
  for (const f of only('.js', '.css')) assert.match(f.text, /^(\/\/|\/\*) \S/, f.name);
});

test('a page weighs at most 250 kB', () => {
  const size = (names) => names.reduce((n, name) => n + statSync(path.join(WEB, name)).size, 0);
  const seen = new Set();
  const add = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const [, dep] of readFileSync(path.join(WEB, name), 'utf8').matchAll(/^import\s[^;]*?'(\.[^']+)';$/gm))
      add(path.posix.join(path.posix.dirname(name), dep));
  };
  const pages = readdirSync(path.join(WEB, 'pages'), { recursive: true, encoding: 'utf8' }).filter(
    (n) =>
      n.endsWith('.js') && /export (async )?function mount\b/.test(readFileSync(path.join(WEB, 'pages', n), 'utf8')),
  );
  // Which catalogues a page loads is said by its entry in the registry.
  const registry = readFileSync(path.join(WEB, 'pages/registry.js'), 'utf8');
  const wordsOf = (page) => {
    const own = registry.split(/^ {4}id: '/m).find((entry) => entry.includes(`import('./${page}')`)) || '';
    const list = /words: \[([^\]]*)\]/.exec(own)?.[1] || '';
    return ['fr.js', ...[...list.matchAll(/'(\w+)'/g)].map((m) => `${m[1]}.fr.js`)];
  };
  for (const page of pages) {
    seen.clear();
    const words = wordsOf(page);
    add('app.js');
    add(`pages/${page}`);
    const looks = `pages/${path.posix.dirname(page)}/${path.posix.dirname(page)}.css`;
    // A page beside the folders may have a file of looks of its own name.
    const ownLooks = `pages/${page.replace(/js$/, 'css')}`;
    const all = [
      ...seen,
      ...(page.includes('/') ? [looks] : existsSync(path.join(WEB, ownLooks)) ? [ownLooks] : []),
      ...words.map((n) => `lang/${n}`),
      'index.html',
      'base/tokens.css',
      'base/base.css',
      'base/components.css',
      'base/theme.js',
      'base/icons.svg',
    ];
    const kb = size(all) / 1000;
    console.log(`# ${page}: ${kb.toFixed(1)} kB`);
    assert.ok(kb <= 250, `${page} weighs ${kb} kB`);
  }
  seen.clear();
  add('pages/galaxy/fly.js');
  const shared = ['tokens.css', 'base.css', 'components.css', 'icons.svg'].map((n) => `base/${n}`);
  const words = ['fr.js', 'galaxy.fr.js', 'galaxyrules.fr.js', 'pilot.fr.js'].map((n) => `lang/${n}`);
  const fly = size([...seen, ...shared, ...words, 'pages/galaxy/fly.html', 'pages/galaxy/fly.css']) / 1000;
  console.log(`# fly: ${fly.toFixed(0)} kB`);
  assert.ok(fly <= 250, `the pilot view weighs ${fly} kB`);
  for (const page of ['master', 'play']) {
    seen.clear();
    add(`party/${page}.js`);
    const shared = ['tokens.css', 'party.css', `${page}.css`, `${page}.html`, 'look.js'].map((n) => `party/${n}`);
    const kb = size([...seen, ...shared, 'base/icons.svg', 'lang/party.fr.js']) / 1000;
    console.log(`# ${page}: ${kb.toFixed(1)} kB`);
    assert.ok(kb <= 250, `${page} weighs ${kb} kB`);
  }
});

test('tokens keep their contrast in both themes', () => {
  const css = readFileSync(path.join(WEB, 'base/tokens.css'), 'utf8');
  const read = (start) =>
    Object.fromEntries(
      [
        ...css
          .slice(css.indexOf(start), css.indexOf('}', css.indexOf(start)))
          .matchAll(/--([\w-]+):\s*(#[0-9A-Fa-f]{3,6})/g),
      ].map((m) => [m[1], m[2]]),
    );
  const light = (hex) => {
    const x =
      hex.length === 4
        ? hex
            .slice(1)
            .split('')
            .map((c) => c + c)
            .join('')
        : hex.slice(1);
    const [r, g, b] = [0, 2, 4].map((i) => {
      const v = parseInt(x.slice(i, i + 2), 16) / 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05);
  };
  for (const theme of [read(':root {'), read('[data-theme=dark]')]) {
    const least = (a, b, min) =>
      assert.ok(ratio(theme[a], theme[b]) >= min, `${a} on ${b} is ${ratio(theme[a], theme[b]).toFixed(2)}`);
    for (const ground of ['bg', 'surface', 'sunk', 'raise'])
      for (const ink of ['ink', 'ink-2', 'ink-3']) least(ink, ground, 4.5);
    for (const tone of ['ok', 'warn', 'bad', 'info', 'accent']) {
      least(tone, 'surface', 4.5);
      least(tone, `${tone}-soft`, 4.5);
    }
    least('on-accent', 'accent', 4.5);
    least('on-bad', 'bad', 4.5);
    least('surface', 'ink', 4.5);
    least('line-strong', 'surface', 3);
    for (const m of ['jobs', 'rooms', 'monsters', 'reactors', 'galaxy']) least(`m-${m}`, 'surface', 3);
  }
});
