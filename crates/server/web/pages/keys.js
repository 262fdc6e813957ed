// The keyspace: every known pattern with its count and size on the left, the chosen pattern or key on the right.
// What is open lives in the address: ?module=, ?pattern=, ?key=.
import { fill, h, icon, patch, square, text } from '../base/dom.js';
import { bytes, num } from '../base/format.js';
import { t } from '../base/i18n.js';
import { button, empty, errorBox, skeleton } from '../base/parts.js';
import { keyCards, keyHref, patternCards, patternHref, shellWord } from './keydetail.js';
import { keyTree, moduleName } from './keytree.js';

const PAGE = 50;

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const { api, router } = ctx;
  let q = ctx.query;
  /** @type {Awaited<ReturnType<typeof keyTree>>} */
  let tree = null;
  let asked = 0;
  let again;
  const open = new Set();
  const keysOf = new Map(); // pattern name → {items, cursor}
  const note = h('span');
  const list = h('div', { role: 'tree', 'aria-label': t('keys.tree') });
  const side = h(
    'section.card.flush.tall.listpane',
    { 'aria-label': t('keys.tree') },
    h(
      'div.tree',
      {},
      h('div.th', {}, note, h('span.num', {}, t('keys.keys')), h('span.meter'), h('span.num', {}, t('keys.memory'))),
      list,
    ),
  );
  const pane = h('div.stack.detail', {}, skeleton(8));
  const two = h('div.two', {}, side, pane);
  fill(root, two);
  ctx.head({ title: t('keys.title') });

  const patternOf = (name) => {
    for (const m of tree?.modules || []) {
      const p =
        m.patterns.find((x) => x.name === name && (!q.module || m.module === q.module)) ||
        m.patterns.find((x) => x.name === name);
      if (p) return { ...p, module: m.module };
    }
    return null;
  };
  async function ask() {
    try {
      tree = await keyTree(api, { signal: ctx.signal });
      drawTree();
      // A count under way is worth looking at again soon.
      if (tree.done === false) again = setTimeout(ask, 700);
      return true;
    } catch (e) {
      if (!ctx.signal.aborted) fill(list, errorBox(e, ask));
      return false;
    }
  }

  /** Lines of the tree as they stand: group, pattern, key, "more". */
  function lines() {
    const max = Math.max(1, ...tree.modules.map((m) => m.memory || 0));
    const out = [];
    for (const m of tree.modules) {
      const id = `m:${m.module}`;
      out.push({
        id,
        depth: 0,
        label: m.name,
        module: m.module,
        mark: true,
        keys: m.keys,
        memory: m.memory,
        share: (m.memory || 0) / max,
        kids: m.patterns.length > 0,
        tone: m.module,
      });
      if (!open.has(id)) continue;
      const top = Math.max(1, ...m.patterns.map((p) => p.memory || 0));
      for (const p of m.patterns) {
        const pid = `p:${m.module}:${p.name}`;
        out.push({
          id: pid,
          depth: 1,
          label: p.pattern,
          mono: true,
          keys: p.keys,
          memory: p.memory,
          share: (p.memory || 0) / top,
          kids: p.keys > 0,
          pattern: p,
          module: m.module,
          href: patternHref(p, m.module),
          on: !q.key && q.pattern === p.name && (!q.module || q.module === m.module),
        });
        if (!open.has(pid)) continue;
        const page = keysOf.get(pid);
        for (const k of page?.items || [])
          out.push({
            id: `k:${k.key}`,
            depth: 2,
            label: k.key,
            mono: true,
            keys: k.type === 'string' ? null : k.length,
            memory: k.memory,
            share: 0,
            href: keyHref(k.key),
            on: q.key === k.key,
            leaf: true,
          });
        if (page?.cursor)
          out.push({
            id: `more:${pid}`,
            depth: 2,
            label: t('keys.more', { n: Math.max(0, p.keys - page.items.length) }),
            href: patternHref(p, m.module),
            leaf: true,
          });
      }
    }
    return out;
  }

  function drawTree() {
    text(
      note,
      tree.done === false
        ? t('keys.counting', { n: tree.keys, total: tree.expected ?? 0 })
        : t('keys.counted', { n: tree.keys }),
    );
    patch(list, lines(), (x) => x.id, makeLine, fillLine);
    if (!list.querySelector('[tabindex="0"]'))
      (list.querySelector('[aria-selected=true]') || list.firstElementChild)?.setAttribute('tabindex', '0');
  }

  function makeLine(x) {
    const el = h(
      'div',
      { role: 'treeitem', 'aria-level': x.depth + 1, tabindex: '-1' },
      h(
        'div.line',
        {},
        h(
          'span.name',
          { vars: { '--depth': x.depth } },
          h('span.twistbox'),
          x.mark && square(x.module),
          h('span.cut', { class: x.mono ? 'mono' : '', title: x.label }, x.mark ? h('b', {}, x.label) : x.label),
        ),
        h('span.num'),
        h('span.meter', {}, h('span.bar', { class: x.tone ? `m-${x.tone}` : '' }, h('i'))),
        h('span.num'),
      ),
    );
    el.addEventListener('click', () => choose(el.wkLine));
    return el;
  }

  function fillLine(el, x) {
    el.wkLine = x;
    el.setAttribute('aria-selected', String(!!x.on));
    if (x.kids) el.setAttribute('aria-expanded', String(open.has(x.id)));
    else el.removeAttribute('aria-expanded');
    el.classList.toggle('nothing', x.keys === 0 && !x.leaf);
    const [name, count, meter, size] = el.firstChild.children;
    if (!!name.firstChild.firstChild !== !!x.kids)
      fill(name.firstChild, x.kids ? icon('right', { class: 'twist' }) : null);
    if (x.leaf) text(name.lastChild, x.label);
    text(count, x.keys == null ? '' : num(x.keys));
    meter.firstChild.classList.toggle('none', !x.share);
    meter.firstChild.firstChild.style.setProperty('--f', x.share || 0);
    text(size, x.memory ? bytes(x.memory) : '');
  }

  async function toggle(x, on = !open.has(x.id)) {
    if (on) open.add(x.id);
    else open.delete(x.id);
    if (on && x.pattern && !keysOf.has(x.id)) {
      try {
        keysOf.set(x.id, await keysPage(x.pattern, x.module));
      } catch {
        keysOf.set(x.id, { items: [] });
      }
    }
    drawTree();
  }

  async function choose(x) {
    if (x.leaf) {
      router.go(x.href, { keepFocus: true });
      return;
    }
    if (x.href) {
      if (!open.has(x.id)) await toggle(x, true);
      router.go(x.href, { keepFocus: true });
      return;
    }
    toggle(x);
  }

  list.addEventListener('keydown', (e) => {
    const el = /** @type {Element} */ (e.target).closest('[role=treeitem]');
    if (!el) return;
    const x = el.wkLine;
    const to = {
      ArrowDown: el.nextElementSibling,
      j: el.nextElementSibling,
      ArrowUp: el.previousElementSibling,
      k: el.previousElementSibling,
      Home: list.firstChild,
      End: list.lastChild,
    }[e.key];
    if (to) {
      e.preventDefault();
      el.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    } else if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      choose(x);
    } else if (e.key === 'ArrowRight' && x.kids && !open.has(x.id)) {
      e.preventDefault();
      toggle(x, true);
    } else if (e.key === 'ArrowLeft' && x.kids && open.has(x.id)) {
      e.preventDefault();
      toggle(x, false);
    }
  });

  const keysPage = (p, module, cursor) =>
    api.get('/api/keys', { query: { module, pattern: p.name, limit: PAGE, cursor }, signal: ctx.signal });

  function drawIntro() {
    ctx.head({ title: t('keys.title'), sentence: t('keys.say'), crumbs: null, actions: null });
    ctx.echo({ cli: 'worldkeep keys', api: 'GET /api/keys' });
    fill(pane, h('section.card', {}, empty({ glyph: 'keys', title: t('keys.pick'), say: t('keys.picksay') })));
  }

  function drawPattern(p) {
    ctx.head({
      title: t('keys.title'),
      tab: p.pattern,
      sentence: '',
      crumbs: [{ label: moduleName(p.module), href: `/keys?module=${p.module}` }],
      actions: null,
    });
    ctx.echo({
      cli: `worldkeep keys --module ${p.module}`,
      api: `GET ${api.address('/api/keys', { module: p.module, pattern: p.name, limit: PAGE })}`,
    });
    const { nodes, table } = patternCards(p, ({ cursor }) => keysPage(p, p.module, cursor));
    fill(pane, nodes);
    table.reload().catch((e) => {
      if (!ctx.signal.aborted)
        fill(
          table,
          errorBox(e, () => table.reload()),
        );
    });
  }

  async function drawKey(key, { quiet = false } = {}) {
    const mine = ++asked;
    ctx.echo({ cli: `worldkeep keys show ${shellWord(key)}`, api: `GET /api/keys/${api.part(key)}` });
    if (!quiet) {
      ctx.head({ title: t('keys.title'), tab: key, sentence: '', crumbs: null, actions: null });
      fill(pane, h('section.card', {}, skeleton(8)));
    }
    /** @type {Api.KeyView} */
    let d;
    try {
      d = await api.get(`/api/keys/${api.part(key)}`, { signal: ctx.signal });
    } catch (e) {
      if (ctx.signal.aborted || mine !== asked) return;
      if (e.status === 404)
        fill(
          pane,
          h('section.card', {}, empty({ glyph: 'keys', title: t('keys.gone'), say: t('keys.gonesay', { key }) })),
        );
      else
        fill(
          pane,
          errorBox(e, () => drawKey(key)),
        );
      return;
    }
    if (mine !== asked) return;
    const def = d.definition;
    ctx.head({
      title: t('keys.title'),
      tab: key,
      sentence: '',
      crumbs: [
        { label: def ? moduleName(def.module) : t('keys.title'), href: def ? `/keys?module=${def.module}` : '/keys' },
        def && { label: def.pattern, href: patternHref(def, def.module) },
      ].filter(Boolean),
      actions: button({ label: t('action.again'), icon: 'loop', run: () => drawKey(key, { quiet: true }) }),
    });
    fill(pane, keyCards(d, key));
    if (def) reveal(def, key);
  }

  /** Opens the tree down to a key, and lists it even when it is not on the first page. */
  async function reveal(def, key) {
    const pid = `p:${def.module}:${def.name}`;
    open.add(`m:${def.module}`);
    open.add(pid);
    if (!keysOf.has(pid))
      try {
        keysOf.set(pid, await keysPage(def, def.module));
      } catch {
        keysOf.set(pid, { items: [] });
      }
    const page = keysOf.get(pid);
    if (!page.items.some((k) => k.key === key)) page.items = [{ key }, ...page.items];
    if (tree && !ctx.signal.aborted) drawTree();
  }

  async function show() {
    two.classList.toggle('inner', !!(q.key || q.pattern));
    if (q.key) {
      drawKey(q.key);
      return;
    }
    if (!tree) return;
    if (q.pattern) {
      const p = patternOf(q.pattern);
      if (p) {
        open.add(`m:${p.module}`);
        drawPattern(p);
        drawTree();
        return;
      }
    }
    if (q.module) open.add(`m:${q.module}`);
    drawIntro();
  }

  (async () => {
    if (q.key) show();
    if (!(await ask())) return;
    if (q.module) open.add(`m:${q.module}`);
    if (!q.key) await show();
    drawTree();
  })();
  const timer = setInterval(() => {
    if (!document.hidden && !ctx.live.paused) ask();
  }, 15000);
  return {
    update(_, query) {
      q = query;
      if (tree) drawTree();
      show();
    },
    unmount() {
      clearInterval(timer);
      clearTimeout(again);
    },
  };
}
