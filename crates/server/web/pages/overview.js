// The front page: state in a sentence, tiles, events per second with their past, what deserves a look, latest events, keyspace, store.
import { bars } from '../base/charts.js';
import { fill, h, icon, patch, text } from '../base/dom.js';
import '../base/feed.js';
import { age, bytes, num, when } from '../base/format.js';
import { historyCard } from '../base/history.js';
import { has, t } from '../base/i18n.js';
import { badge, empty, skeleton } from '../base/parts.js';
import { said } from '../base/said.js';
import { storeName } from '../base/shell.js';
import { keyTree, lastTree, moduleName } from './keytree.js';
import { pageOf } from './registry.js';
import { keptBy, whenFull } from './storewords.js';
import { tour } from './tour.js';

/** What a tile's number counts, in the reader's language.
 *  @param {Api.Tile} x */
const unitOf = (x) => (has(`tile.unit.${x.module}`) ? t(`tile.unit.${x.module}`, { n: x.number }) : x.unit);

/** A count that was not made just now says how old it is, or that it goes on.
 *  @param {Api.Tile} x */
function lineOf(x) {
  const old = x.counted ? Date.now() - x.counted.at : 0;
  if (x.counted && !x.counted.done) return t('tile.counting');
  return old > 30000 ? `${said(x)} · ${t('tile.counted', { age: age(old) })}` : said(x);
}

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const { live, state } = ctx;
  const tiles = h('div.tiles', { hidden: true });
  const chartCard = historyCard(ctx, {
    id: 'o-rate',
    title: t('overview.rate'),
    note: t('overview.bymodule'),
    cls: 'w8',
    held: () => live.paused,
    pick: (x) => (x.name === 'events' ? { id: x.module, module: x.module, name: moduleName(x.module) } : null),
  });
  const lookBody = h('div', {}, skeleton(4));
  const lookCard = h(
    'section.card.w4',
    { 'aria-labelledby': 'o-look' },
    h('header', {}, h('h2', { id: 'o-look' }, t('overview.look'))),
    lookBody,
  );
  const feed = h('wk-feed');
  const pause = h('button.btn.quiet.small', { type: 'button', on: { click: () => live.pause() } });
  const feedCard = h(
    'section.card.w5',
    { 'aria-labelledby': 'o-feed' },
    h(
      'header',
      {},
      h('h2', { id: 'o-feed' }, t('overview.latest')),
      h('span.end', {}, pause, h('a.btn.quiet.small', { href: '/events' }, t('action.all'))),
    ),
    feed,
  );
  const memTotal = h('span.note');
  const memBody = h('div', {}, skeleton(6));
  const memCard = h(
    'section.card.w4',
    { 'aria-labelledby': 'o-mem' },
    h('header', {}, h('h2', { id: 'o-mem' }, t('overview.memory')), memTotal),
    memBody,
  );
  const storeBody = h('div', {}, skeleton(5));
  const storeCard = h(
    'section.card.w3.railfull',
    { 'aria-labelledby': 'o-store' },
    h(
      'header',
      {},
      h('h2', { id: 'o-store' }, t('overview.store')),
      h('span.end', {}, h('a.btn.quiet.small', { href: '/health' }, t('nav.health'))),
    ),
    storeBody,
  );
  root.classList.add('overview');
  const guide = tour();
  fill(
    root,
    tiles,
    guide.card,
    h('div.grid', {}, chartCard, lookCard),
    h('div.grid', {}, feedCard, memCard, storeCard),
  );
  ctx.echo({ cli: ctx.api.curl('/api/overview'), api: 'GET /api/overview' });

  feed.setup({
    live,
    limit: 7,
    empty: () =>
      empty({
        glyph: 'events',
        title: t('overview.nothing'),
        say: t('overview.nothingsay'),
        command: 'worldkeep serve --demo',
      }),
  });

  const drawPause = () =>
    fill(pause, icon(live.paused ? 'play' : 'pause', { class: 's' }), t(live.paused ? 'live.resume' : 'live.pause'));

  function drawHead() {
    const o = state.overview;
    if (!o) {
      ctx.head({ title: t('nav.overview'), sentence: state.fault ? t('store.away') : t('state.loading') });
      return;
    }
    const n = o.looks_total ?? (o.looks || []).length;
    ctx.head({
      title: t(
        state.storeAway
          ? 'overview.away'
          : state.fault
            ? 'overview.unreachable'
            : o.store?.refuses_writes
              ? 'overview.refuses'
              : 'overview.running',
      ),
      sentence: state.fault
        ? t('overview.from', { at: when(state.overviewAt) })
        : [
            n ? t('overview.things', { n, word: t(`number.${Math.min(n, 10)}`, { n }) }) : t('overview.none'),
            ' ',
            t('overview.since', { age: age(Date.now() - o.started_at) }),
          ],
    });
  }

  function drawTiles() {
    const list = [...state.tiles.values()].filter((x) => state.running.includes(x.module));
    tiles.hidden = !list.length;
    patch(
      tiles,
      list,
      (x) => x.module,
      () => h('wk-tile'),
      (el, x) => {
        const bad = (x.looks || []).length;
        el.set({
          href: ctx.router.knows(x.link) ? x.link : pageOf(x.module),
          module: x.module,
          name: moduleName(x.module),
          value: x.number,
          unit: unitOf(x),
          line: lineOf(x),
          points: state.history.get(x.module)?.length > 1 ? state.history.get(x.module) : null,
          staleMs: Date.now() - x.at,
          aside: bad ? badge('warn', num(bad)) : null,
        });
      },
    );
    if (list.length) ctx.digest(list.map((x) => `${moduleName(x.module)}: ${num(x.number)} ${unitOf(x)}`).join(', '));
  }

  function drawLooks() {
    let looks = state.overview?.looks;
    if (!looks) return;
    // With no server, what it last said about itself is no longer worth much.
    if (state.fault)
      looks = [
        { level: 'bad', module: 'server', sentence: t('error.unreachable'), link: '' },
        ...looks.filter((x) => x.module !== 'store'),
      ];
    lookCard.classList.toggle('first', looks.length > 0);
    if (!looks.length) {
      if (lookBody.dataset.was !== 'none')
        fill(lookBody, empty({ glyph: 'check', title: t('overview.well'), say: t('overview.wellsay') }));
      lookBody.dataset.was = 'none';
      return;
    }
    if (lookBody.dataset.was !== 'list') {
      fill(lookBody, h('ul.looks'));
      lookBody.dataset.was = 'list';
    }
    patch(
      lookBody.firstChild,
      looks.slice(0, 5),
      (x) => x.module + said(x),
      (x) => {
        const words = said(x);
        const [first, ...rest] = (words[0].toUpperCase() + words.slice(1)).split(/(?<=[.;:]) /);
        return h(
          'li',
          {},
          icon('warn', { class: x.level === 'bad' ? 'bad' : 'warn' }),
          h('div', {}, h('b', {}, first.replace(/[;:.]$/, '')), rest.length ? h('p', {}, rest.join(' ')) : null),
          x.link && ctx.router.knows(x.link) ? h('a.btn.small', { href: x.link }, t('overview.see')) : h('span'),
        );
      },
    );
  }

  /** Without a chart its neighbours take its place. */
  function arrange() {
    const any = !chartCard.hidden;
    lookCard.classList.toggle('w4', any);
    lookCard.classList.toggle('railfull', any);
    lookCard.classList.toggle('w6', !any);
    const beside = feedCard.parentNode === lookCard.parentNode;
    if (any === !beside) return;
    if (any) memCard.before(feedCard);
    else lookCard.before(feedCard);
    feedCard.className = any ? 'card w5' : 'card w6';
    memCard.className = any ? 'card w4' : 'card w8';
    storeCard.className = any ? 'card w3 railfull' : 'card w4';
  }

  async function drawMemory() {
    try {
      drawTree(await keyTree(ctx.api, { signal: ctx.signal }));
    } catch {
      if (!ctx.signal.aborted && !memBody.querySelector('.barlist'))
        fill(memBody, h('p.quiet', {}, t('error.unreachable')));
    }
  }

  function drawTree(tree) {
    const count = t('keys.count', { n: tree.keys });
    text(memTotal, tree.memory == null ? count : `${count} · ${bytes(tree.memory)}`);
    const byMemory = tree.modules.some((m) => m.memory);
    const lines = tree.modules.map((m) => ({
      name: m.name,
      note: t('keys.count', { n: m.keys }),
      module: m.module,
      value: byMemory ? m.memory : m.keys,
      shown: m.memory ? bytes(m.memory) : '',
      href: `/keys?module=${m.module}`,
    }));
    fill(memBody, bars(lines));
  }

  function drawStore() {
    const o = state.overview;
    if (!o) return;
    const s = o.store;
    fill(
      storeBody,
      h(
        'div.row',
        {},
        state.fault
          ? badge('idle', t('age.old', { age: age(state.ageMs) }))
          : badge(s.up ? 'ok' : 'bad', t(s.up ? 'store.answers' : 'store.silent')),
        h('b', {}, storeName(s)),
      ),
      h('br'),
      h(
        'dl.facts',
        {},
        fact('store.place', h('span.mono', {}, s.place)),
        fact('store.server', s.server),
        fact('store.persistence', keptBy(s)),
        fact('store.eviction', whenFull(s)),
        fact('store.reconnects', num(s.reconnects)),
        fact('overview.version', o.version),
      ),
    );
  }
  const fact = (label, value) => value !== '' && value != null && [h('dt', {}, t(label)), h('dd', {}, value)];

  const all = () => {
    drawHead();
    if (state.overview) guide.draw(state.overview.demo, state.running);
    if (!live.paused) {
      drawTiles();
      drawLooks();
      drawStore();
    }
  };
  const opts = { signal: ctx.signal };
  state.addEventListener('overview', all, opts);
  state.addEventListener('fault', all, opts);
  live.addEventListener('paused', drawPause, opts);
  const slow = setInterval(drawMemory, 15000);
  chartCard.addEventListener('drawn', arrange);
  drawPause();
  arrange();
  all();
  if (lastTree()) drawTree(lastTree());
  drawMemory();
  return {
    unmount() {
      root.classList.remove('overview');
      clearInterval(slow);
    },
  };
}
