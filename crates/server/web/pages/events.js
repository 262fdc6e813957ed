// All events: live tail with filters by module, type and object, all in the address. A row opens its body.
import { fill, h, icon, square } from '../base/dom.js';
import { sentence } from '../base/feed.js';
import { when, whenLong } from '../base/format.js';
import { t } from '../base/i18n.js';
import { jsonView } from '../base/keyview.js';
import { closeDrawer, openDrawer } from '../base/overlay.js';
import { button, copyButton, empty } from '../base/parts.js';
import '../base/table.js';
import { moduleName } from './keytree.js';

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const { live, router, state } = ctx;
  let q = ctx.query;
  const match = (e) =>
    (!q.module || e.module === q.module) &&
    (!q.type || e.type === q.type) &&
    (!q.scope || e.scope === q.scope) &&
    (!q.text || `${e.id} ${e.type} ${JSON.stringify(e.body ?? '')}`.toLowerCase().includes(q.text.toLowerCase()));
  const options =
    (of, name = (x) => x) =>
    () => {
      const n = new Map();
      for (const e of live.events) if (e[of]) n.set(e[of], (n.get(e[of]) || 0) + 1);
      for (const m of of === 'module' ? state.running : []) if (!n.has(m)) n.set(m, 0);
      return [...n]
        .sort((a, b) => b[1] - a[1])
        .map(([value, count]) => ({ value, label: name(value), count, mark: of === 'module' ? square(value) : null }));
    };

  const input = h('input', {
    type: 'search',
    'aria-label': t('events.find'),
    placeholder: t('events.find'),
    autocomplete: 'off',
    spellcheck: 'false',
  });
  input.value = q.text || '';
  let typing;
  input.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => router.setQuery({ text: input.value.trim() || null }), 200);
  });
  const chips = h('wk-chips').setup({
    extra: h('label.search', {}, icon('search', { class: 's' }), input),
    change: (id, value) => router.setQuery({ [id]: value }),
    filters: [
      { id: 'module', name: t('events.module'), options: options('module', moduleName) },
      { id: 'type', name: t('events.type'), options: options('type') },
      { id: 'scope', name: t('events.scope'), options: options('scope') },
    ],
  });
  const gaps = h('div');
  const feed = h('wk-feed');
  const pause = h('button.btn', { type: 'button', on: { click: () => live.pause() } });
  fill(root, chips, gaps, h('section.card.flush', { 'aria-label': t('events.title') }, feed));

  function none() {
    if (live.events.length)
      return empty({
        glyph: 'search',
        title: t('events.nomatch'),
        say: t('events.nomatchsay'),
        action: h(
          'button.btn',
          {
            type: 'button',
            on: {
              click: () => {
                input.value = '';
                router.go('/events', { keepFocus: true });
              },
            },
          },
          t('filter.clear'),
        ),
      });
    return empty({
      glyph: 'events',
      title: t('overview.nothing'),
      say: t('events.nonesay'),
      command: 'worldkeep serve --demo',
    });
  }

  function open(e) {
    openDrawer({
      title: sentence(e),
      say: `${when(e.at)} · ${moduleName(e.module)}${e.scope ? ` · ${e.scope}` : ''}`,
      content: [
        h(
          'dl.facts',
          {},
          h('dt', {}, t('events.type')),
          h('dd', {}, e.type),
          h('dt', {}, t('events.id')),
          h('dd.mono', {}, e.id, ' ', e.id && copyButton(e.id, t('copy.id'))),
          h('dt', {}, t('events.at')),
          h('dd', {}, whenLong(e.at)),
          h('dt', {}, t('events.stream')),
          h('dd', {}, h('a.link.mono', { href: `/keys?key=${encodeURIComponent(e.stream || '')}` }, e.stream)),
          h('dt', {}, t('events.seq')),
          h('dd.mono', {}, e.seq),
        ),
        h('h3', {}, t('events.body')),
        h('div.value', {}, jsonView(e.body)),
      ],
      onclose: () => router.setQuery({ open: null }),
    });
  }

  // Older than the socket's tail, asked for by filter or by hand; goes with the page.
  const older = new Map();
  let cursor;
  const events = () => {
    const known = new Set(live.events.map((e) => e.key));
    return [...live.events, ...[...older.values()].filter((e) => !known.has(e.key))];
  };
  const more = h(
    'div.more',
    { hidden: true },
    button({ label: t('events.older'), small: true, run: () => ask(cursor) }),
  );
  async function ask(from) {
    try {
      const page = await ctx.api.get('/api/events', {
        query: { module: q.module, type: q.type, scope: q.scope, limit: 100, cursor: from },
        signal: ctx.signal,
      });
      for (const e of page.items) older.set(`${e.stream} ${e.seq}`, { ...e, key: `${e.stream} ${e.seq}` });
      cursor = page.cursor;
      more.hidden = !cursor;
      limit += from ? 100 : 0;
      feed.o.limit = limit;
      feed.draw();
      draw();
    } catch {
      if (!ctx.signal.aborted) more.hidden = true;
    }
  }
  let limit = 200;
  root.querySelector('section').append(more);
  const find = (key) => events().find((e) => e.key === key);
  feed.setup({
    live,
    events,
    full: true,
    limit,
    filter: match,
    empty: none,
    open: (e) => router.setQuery({ open: e.key }, { push: true }),
  });

  function draw() {
    const shown = events().filter(match).length;
    chips.draw(q, events().length ? shown : undefined);
    fill(pause, icon(live.paused ? 'play' : 'pause', { class: 's' }), t(live.paused ? 'live.resume' : 'live.pause'));
    ctx.head({
      title: t('events.title'),
      sentence: live.paused
        ? t('events.held')
        : events().length
          ? t('events.say', { n: events().length })
          : t('events.none'),
      actions: pause,
    });
    const asked = { module: q.module, type: q.type, scope: q.scope };
    ctx.echo({ cli: ctx.api.curl('/api/events', asked), api: `GET ${ctx.api.address('/api/events', asked)}` });
  }

  function drawGaps() {
    fill(
      gaps,
      live.gaps.map((g) =>
        h('div.banner', {}, icon('warn'), h('span.text', {}, t('events.gap', { stream: g.stream }))),
      ),
    );
  }
  const opts = { signal: ctx.signal };
  live.addEventListener(
    'events',
    () => {
      if (!live.paused) draw();
    },
    opts,
  );
  live.addEventListener('paused', draw, opts);
  live.addEventListener('gap', drawGaps, opts);
  draw();
  drawGaps();
  ask();
  if (q.open && find(q.open)) open(find(q.open));
  return {
    update(_, query) {
      const was = q.open;
      const same = ['module', 'type', 'scope'].every((k) => q[k] === query[k]);
      q = query;
      if (!same) ask();
      if (document.activeElement !== input) input.value = q.text || '';
      feed.draw();
      draw();
      if (q.open !== was) {
        const e = q.open && find(q.open);
        if (e) open(e);
        else closeDrawer();
      }
    },
  };
}
