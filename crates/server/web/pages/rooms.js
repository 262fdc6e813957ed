// Live rooms, for operators: code, phase, players, age, time left. Read-only but for closing one. Votes, phone ids, names
// and photos are never shown here.
import { fill, h, icon } from '../base/dom.js';
import { age, num, when, whenLong } from '../base/format.js';
import { t } from '../base/i18n.js';
import { ask, closeDrawer, openDrawer, toast } from '../base/overlay.js';
import { badge, button, copyButton, empty, errorBox, skeleton } from '../base/parts.js';
import '../base/table.js';

const EACH_MS = 5000;

/** `ABCD-2345`, for people. */
export const showCode = (code) => (code?.length === 8 ? `${code.slice(0, 4)}-${code.slice(4)}` : code || '');

const PHASES = { lobby: 'waiting', game: 'active', over: 'completed' };
const phase = (word) => badge(PHASES[word] || 'idle', t(`rooms.phase.${PHASES[word] ? word : 'lobby'}`));
const left = (row) => Math.max(0, row.expires_at - Date.now());

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const table = h('wk-table');
  const box = h('section.card.flush', { 'aria-label': t('rooms.title') }, skeleton(5));
  const news = h(
    'a.btn.primary',
    { href: '/party', target: '_blank', rel: 'noopener' },
    icon('plus', { class: 's' }),
    t('rooms.new'),
  );
  fill(root, box);
  let drawn = false;

  table.setup({
    label: t('rooms.title'),
    key: (/** @type {Api.RoomLine} */ r) => r.code,
    columns: [
      { id: 'code', name: t('rooms.code'), cell: (r) => h('b.mono', {}, showCode(r.code)) },
      { id: 'phase', name: t('rooms.phase'), cell: (r) => phase(r.phase) },
      { id: 'players_active', name: t('rooms.players'), num: true, cell: (r) => num(r.players_active) },
      {
        id: 'created_at',
        name: t('rooms.age'),
        num: true,
        cell: (r) => h('span', { title: whenLong(r.created_at) }, age(Date.now() - r.created_at)),
      },
      {
        id: 'expires_at',
        name: t('rooms.left'),
        num: true,
        cell: (r) => h('span', { title: whenLong(r.expires_at) }, age(left(r))),
      },
    ],
    open: (row) => openRoom(ctx, row, refresh),
    load: async ({ cursor }) => {
      const page = await ctx.api.get('/api/rooms', { query: { cursor, limit: 50 }, signal: ctx.signal });
      return { items: page.items, cursor: page.cursor };
    },
    empty: () =>
      empty({
        glyph: 'rooms',
        title: t('rooms.none'),
        say: t('rooms.nonesay'),
        command: 'worldkeep rooms create setup.json',
      }),
  });

  async function refresh() {
    try {
      await table.reload();
    } catch (e) {
      if (ctx.signal.aborted) return;
      if (!drawn) fill(box, errorBox(e, refresh));
      return;
    }
    if (!drawn) fill(box, table);
    drawn = true;
    head();
  }

  function head() {
    const rows = table.rows;
    const playing = rows.filter((r) => r.phase === 'game').length;
    const more = table.cursor ? '+' : '';
    ctx.head({
      title: t('rooms.title'),
      sentence: rows.length ? t('rooms.sentence', { n: rows.length, more, playing }) : t('rooms.none'),
      actions: [h('a.btn', { href: '/rooms/playground' }, icon('screen', { class: 's' }), t('rooms.playground')), news],
    });
    ctx.echo({ cli: 'worldkeep rooms ls', api: 'GET /api/rooms' });
    ctx.digest(t('rooms.sentence', { n: rows.length, more, playing }));
  }
  head();
  refresh();
  const visible = () => !document.hidden && scrollY < 80 && table.rows.length <= 50;
  const timer = setInterval(() => visible() && refresh(), EACH_MS);
  let soon;
  const hear = (e) => {
    if (!e.detail?.some?.((one) => one.module === 'rooms')) return;
    clearTimeout(soon);
    soon = setTimeout(() => visible() && refresh(), 400);
  };
  ctx.live.addEventListener('events', hear, { signal: ctx.signal });
  // A code in the address opens that room.
  if (/^[A-Z0-9]{4,12}$/.test(ctx.query.code || ''))
    ctx.api
      .get(`/api/rooms/${ctx.query.code}`, { signal: ctx.signal })
      .then((room) => openRoom(ctx, { ...room, code: ctx.query.code }, refresh))
      .catch(() => {});
  return {
    unmount() {
      clearInterval(timer);
      clearTimeout(soon);
    },
  };
}

/** One room: what its public page tells, its keys, and the way to end it. */
async function openRoom(ctx, row, refresh) {
  const line = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  const facts = h('dl.facts', {}, skeleton(3));
  const code = showCode(row.code);
  openDrawer({
    title: t('rooms.one', { code }),
    say: t('rooms.onesay'),
    content: [
      facts,
      h('p', {}, h('a.btn.small', { href: `/keys?key=room:${row.code}:meta` }, t('rooms.keys'))),
      h('code.cmd', {}, `worldkeep rooms show ${row.code}`),
    ],
    actions: ctx.can('operator')
      ? [button({ label: t('rooms.close'), kind: 'danger', icon: 'trash', run: () => closeRoom(ctx, row, refresh) })]
      : null,
  });
  try {
    const room = await ctx.api.get(`/api/rooms/${row.code}`, { signal: ctx.signal });
    fill(
      facts,
      line(t('rooms.code'), [h('b.mono', {}, code), ' ', copyButton(row.code, t('rooms.code'))]),
      line(t('rooms.phase'), phase(room.phase)),
      line(t('rooms.players'), num(room.players_active)),
      line(t('rooms.free'), num(room.players_free)),
      line(t('rooms.since'), h('span', { title: whenLong(row.created_at) }, when(row.created_at))),
      line(t('rooms.left'), t('rooms.leftsay', { age: age(left(room)) })),
    );
  } catch (e) {
    if (!ctx.signal.aborted) fill(facts, errorBox(e));
  }
}

function closeRoom(ctx, row, refresh) {
  const code = showCode(row.code);
  return ask({
    title: t('rooms.closeask', { code }),
    say: t('rooms.closesay', { n: row.players_active }),
    command: `worldkeep rooms close ${row.code}`,
    verb: t('rooms.close'),
    keep: t('rooms.keep'),
    run: async () => {
      await ctx.api.del(`/api/rooms/${row.code}`);
      closeDrawer();
      toast(t('rooms.closed', { code }));
      refresh();
    },
  });
}
