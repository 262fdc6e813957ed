// Health: each line is what, value, verdict. Works from memory while the store is away; a red line says what to set.
import { asTable } from '../base/charts.js';
import { fill, h, icon } from '../base/dom.js';
import { age, bytes, ms, num, when } from '../base/format.js';
import { historyCard } from '../base/history.js';
import { has, t } from '../base/i18n.js';
import { badge, errorBox, sayError, skeleton } from '../base/parts.js';
import { declared, said, sentence } from '../base/said.js';
import { storeName } from '../base/shell.js';
import { moduleName } from './keytree.js';
import { keptBy, whenFull } from './storewords.js';

/** Reads the Prometheus text: `{name: [{labels, value}]}`. */
export function readMetrics(page) {
  const out = {};
  for (const line of String(page).split('\n')) {
    const hit = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line);
    if (!hit) continue;
    const labels = Object.fromEntries(
      [...(hit[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((m) => [m[1], m[2]]),
    );
    out[hit[1]] ||= [];
    out[hit[1]].push({ labels, value: Number(hit[3]) });
  }
  return out;
}

/** Bins and quantiles out of a cumulative histogram in seconds. */
export function readHistogram(metrics, name) {
  const rows = (metrics[`${name}_bucket`] || [])
    .map((b) => ({ to: b.labels.le === '+Inf' ? Infinity : Number(b.labels.le), n: b.value }))
    .sort((a, b) => a.to - b.to);
  let before = 0;
  const bins = rows.map((r) => {
    const n = r.n - before;
    before = r.n;
    return { to: r.to * 1000, n };
  });
  const total = before;
  const quantile = (q) => {
    const i = rows.findIndex((r) => r.n >= q * total);
    return i < 0 || !total ? null : (bins[Math.min(i, bins.length - 2)]?.to ?? null);
  };
  return { bins: bins.filter((b) => b.to !== Infinity), total, p50: quantile(0.5), p99: quantile(0.99) };
}

/** Where a setting came from: the first word is ours, the rest is a name or a path. */
const sourceOf = (source) => {
  const [word, ...rest] = source.split(' ');
  return has(`health.source.${word}`) ? [t(`health.source.${word}`), rest.length ? ` ${rest.join(' ')}` : ''] : source;
};

const sum = (rows, keep = (_row) => true) => (rows || []).filter(keep).reduce((n, r) => n + r.value, 0);

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const lines = h('ul.verdicts', {}, h('li', {}, skeleton(4)));
  const ready = h('div');
  const facts = h('dl.facts');
  const chart = h('wk-histogram');
  const chartNote = h('span.note');
  const httpFoot = h('footer');
  const settings = h('div', {}, skeleton(4));
  const settingsCard = h(
    'section.card',
    { 'aria-labelledby': 'h-set', hidden: !ctx.can('admin') },
    h('header', {}, h('h2', { id: 'h-set' }, t('health.settings')), h('span.note', {}, t('health.settingsnote'))),
    settings,
  );
  /** Series of this server that are drawn together. */
  const line2 = (names) => (/** @type {Api.Series} */ x) => {
    const i = names.indexOf(`${x.module}.${x.name}`);
    return i < 0 ? null : { id: x.name, name: t(`health.line.${x.name}`), dash: i ? '7 3' : null };
  };
  const charts = [
    { id: 'h-lat', of: 'latency', pick: line2(['server.request_p99', 'server.store_p99']), format: ms },
    { id: 'h-tick', of: 'tick', pick: line2(['galaxy.tick']), format: ms },
    { id: 'h-mem', of: 'memory', pick: line2(['server.memory']), format: bytes },
    { id: 'h-req', of: 'requests', pick: line2(['server.requests']) },
  ].map(({ id, of, pick, format }) =>
    historyCard(ctx, {
      id,
      title: t(`health.chart.${of}`),
      note: t(`health.chart.${of}.note`),
      cls: 'w6',
      height: '10rem',
      pick,
      format,
      held: () => ctx.live.paused,
    }),
  );
  fill(
    root,
    h(
      'div.grid',
      {},
      h(
        'section.card.w8',
        { 'aria-labelledby': 'h-lines' },
        h('header', {}, h('h2', { id: 'h-lines' }, t('health.state'))),
        ready,
        lines,
      ),
      h(
        'div.stack.w4',
        {},
        h(
          'section.card',
          { 'aria-labelledby': 'h-this' },
          h('header', {}, h('h2', { id: 'h-this' }, t('health.process'))),
          facts,
        ),
        h(
          'section.card',
          { 'aria-labelledby': 'h-http' },
          h(
            'header',
            {},
            h('h2', { id: 'h-http' }, t('health.requests')),
            chartNote,
            h('span.end', {}, asTable(chart)),
          ),
          chart,
          httpFoot,
        ),
      ),
    ),
    h('div.grid', {}, charts),
    settingsCard,
  );
  ctx.head({ title: t('health.title') });
  ctx.echo({ cli: ctx.api.curl('/api/health'), api: 'GET /api/health' });

  const line = (verdict, what, value, note) =>
    h(
      'li',
      {},
      icon({ ok: 'tick', warn: 'warn', bad: 'cross', idle: 'clock' }[verdict], {
        class: verdict,
        label: t(`verdict.${verdict}`),
      }),
      h('b', {}, what),
      h('span.what.quiet', {}, value, note && h('span.note', {}, ' ', note)),
      badge(verdict, t(`verdict.${verdict}`)),
    );

  /** @param {Api.Health} health @param {Api.Ready} readyz */
  function draw(health, readyz) {
    const s = health.store;
    const bad = !s.up;
    const n = s.warnings.length;
    ctx.head({
      title: t(bad ? 'health.bad' : s.refuses_writes ? 'overview.refuses' : n ? 'health.warn' : 'health.good'),
      sentence: health.stopping
        ? t('health.stopping')
        : t('health.up', { age: age(health.uptime_ms), version: health.version }),
    });
    fill(
      lines,
      line(
        bad ? 'bad' : 'ok',
        t('health.store'),
        bad
          ? t('health.storedown', { at: when(s.since_ms), reason: s.reason || t('health.noreason') })
          : s.kind === 'embedded'
            ? `${storeName(s)} · ${s.server}`
            : storeName(s),
        bad ? null : t('health.since', { age: age(Date.now() - s.since_ms) }),
      ),
      s.refuses_writes ? line('bad', t('health.writes'), t('health.refuses', { reason: s.refuses_writes })) : null,
      line('ok', t('store.place'), h('span.mono', {}, s.place)),
      line(/\.(none|nolog|snapshots)$/.test(s.kept.code) ? 'warn' : 'ok', t('store.persistence'), keptBy(s) || '–'),
      line(s.eviction && s.eviction !== 'noeviction' ? 'warn' : 'ok', t('store.eviction'), whenFull(s)),
      line(s.reconnects > 0 ? 'idle' : 'ok', t('store.reconnects'), num(s.reconnects)),
      s.warnings.map((w) => line('warn', t('health.warning'), sentence(said(w)))),
      line(
        health.modules.length ? 'ok' : 'idle',
        t('health.modules'),
        health.modules.length ? health.modules.map(moduleName).join(', ') : t('health.nomodules'),
      ),
      line(
        health.loops.length ? 'ok' : 'idle',
        t('health.loops'),
        health.loops.length
          ? health.loops.map((name) => declared(`loop.${name}`, name)).join(', ')
          : t('health.noloops'),
      ),
    );
    fill(
      ready,
      h(
        'div.healthy',
        { class: readyz.ready ? '' : 'bad' },
        icon(readyz.ready ? 'check' : 'warn'),
        h(
          'span',
          {},
          readyz.ready
            ? t('health.ready')
            : t('health.notready', {
                why: readyz.reasons.map((sentence, i) => said({ sentence, said: readyz.said?.[i] })).join('; '),
              }),
          ' ',
          h('code', {}, '/readyz'),
        ),
      ),
    );
    fill(
      facts,
      pair('overview.version', health.version),
      pair('health.started', when(health.started_at)),
      pair('health.uptime', age(health.uptime_ms)),
      pair('health.memory', bytes(health.resident_bytes)),
      pair('health.live', t(`live.${ctx.live.state === 'live' ? 'live' : 'offline'}`)),
    );
  }
  const pair = (label, value) => [h('dt', {}, t(label)), h('dd', {}, value)];

  function drawMetrics(page) {
    const m = readMetrics(page);
    const hist = readHistogram(m, 'worldkeep_http_request_seconds');
    chart.set({
      bins: hist.bins,
      format: ms,
      label: t('health.requests'),
      marks: [
        hist.p50 != null && { name: 'p50 ≤', value: hist.p50 },
        hist.p99 != null && hist.p99 !== hist.p50 && { name: 'p99 ≤', value: hist.p99 },
      ].filter(Boolean),
    });
    chartNote.textContent = t('health.steps');
    const rows = m.worldkeep_http_requests_total;
    fill(
      httpFoot,
      h('span', {}, t('health.total', { n: sum(rows) })),
      h('span', {}, t('health.refused', { n: sum(rows, (r) => /^4/.test(r.labels.status)) })),
      h('span', {}, t('health.failed', { n: sum(rows, (r) => /^5/.test(r.labels.status)) })),
      m.worldkeep_sockets && h('span', {}, t('health.sockets', { n: sum(m.worldkeep_sockets) })),
    );
  }

  let seen = false;
  async function ask() {
    try {
      const [health, readyz] = await Promise.all([
        ctx.api.get('/api/health', { signal: ctx.signal }),
        ctx.api
          .get('/readyz', { signal: ctx.signal })
          .catch((e) => (e.data?.reasons ? e.data : { ready: false, reasons: [sayError(e)] })),
      ]);
      draw(health, readyz);
      seen = true;
    } catch (e) {
      if (ctx.signal.aborted) return;
      if (!seen) fill(lines, h('li', {}, errorBox(e, ask)));
      ctx.head({ title: t('health.unreachable'), sentence: t('error.unreachable') });
    }
    try {
      drawMetrics(await ctx.api.get('/metrics', { signal: ctx.signal }));
    } catch {
      /* the lines above already say it */
    }
  }
  async function config() {
    if (!ctx.can('admin')) return;
    try {
      const list = await ctx.api.get('/api/config', { signal: ctx.signal });
      fill(
        settings,
        h(
          'div.scroll',
          { tabindex: '0' },
          h(
            'table.t.cards',
            {},
            h(
              'thead',
              {},
              h(
                'tr',
                {},
                ['name', 'value', 'source', 'says'].map((x) => h('th', { scope: 'col' }, t(`health.set.${x}`))),
              ),
            ),
            h(
              'tbody',
              {},
              list.map((x) =>
                h(
                  'tr',
                  {},
                  h('td', {}, h('span.mono', {}, x.name)),
                  h('td.mono', {}, x.value || '–'),
                  h('td', {}, sourceOf(x.source)),
                  h('td.wide.quiet', {}, sentence(declared(`setting.${x.name}`, x.says))),
                ),
              ),
            ),
          ),
        ),
      );
    } catch (e) {
      if (!ctx.signal.aborted) fill(settings, errorBox(e, config));
    }
  }
  const timer = setInterval(() => {
    if (!document.hidden && !ctx.live.paused) ask();
  }, 2000);
  ask();
  config();
  return { unmount: () => clearInterval(timer) };
}
