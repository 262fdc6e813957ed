// The check: walks the store, reports what is wrong in sentences, and repairs after showing every write.
import { fill, h, icon } from '../base/dom.js';
import { age, num, when } from '../base/format.js';
import { t } from '../base/i18n.js';
import { ask, toast } from '../base/overlay.js';
import { badge, button, empty, errorBox, skeleton } from '../base/parts.js';
import '../base/table.js';

const POLL_MS = 400;

/** One reading of the answer, whichever of its members are there. */
export function readReport(r) {
  if (!r) return null;
  const findings = r.findings || r.items || r.problems || [];
  return { ...r, running: r.state === 'running' || r.running === true, findings, scanned: r.scanned ?? r.keys ?? r.seen ?? 0, total: r.total ?? r.expected ?? null, tookMs: r.took_ms ?? r.duration_ms ?? null, at: r.finished_at ?? r.at ?? null, repairable: r.repairable ?? findings.filter((f) => f.repair || f.repairable).length, foreign: r.foreign ?? null, faults: r.faults ?? r.total_findings ?? findings.length, repaired: r.repaired ?? 0 };
}

export function mount(root, ctx) {
  const { api } = ctx;
  const body = h('div.stack', {}, h('section.card', {}, skeleton(6)));
  fill(root, body);
  ctx.echo({ cli: 'worldkeep check', api: 'POST /api/check' });
  let report = null;
  let busy = false;
  let started = null;

  const runButton = () => (ctx.can('operator') ? button({ label: t(report ? 'check.again' : 'check.run'), icon: 'check', kind: 'primary', run: () => run(false) }) : null);

  async function run(repair) {
    if (busy) return;
    busy = true;
    started = Date.now();
    drawRunning(null);
    const poll = setInterval(async () => { try { const now = readReport(await api.get('/api/check', { signal: ctx.signal, quiet: true })); if (busy && now?.running) drawRunning(now); } catch { /* the run itself reports */ } }, POLL_MS);
    try {
      report = readReport(await api.post('/api/check', { repair }, { timeout: 600000, signal: ctx.signal }));
      busy = false;
      if (repair) toast(t('check.repaired', { n: report.repaired }));
      draw();
    } catch (e) {
      if (ctx.signal.aborted) return;
      busy = false;
      draw(e);
    } finally { clearInterval(poll); busy = false; }
  }

  function drawRunning(now) {
    const f = now?.total ? Math.min(1, now.scanned / now.total) : null;
    const rate = now?.scanned && started ? now.scanned / Math.max(0.2, (Date.now() - started) / 1000) : null;
    ctx.head({ title: t('check.running'), sentence: now ? t('check.progress', { n: now.scanned }) : t('check.begin'), actions: null });
    fill(body, h('section.card', { 'aria-busy': 'true' }, h('div.progress', { class: f == null ? 'unknown' : '', role: 'progressbar', 'aria-label': t('check.running'), 'aria-valuemin': '0', 'aria-valuemax': '100', 'aria-valuenow': f == null ? null : Math.round(f * 100) }, h('i', { vars: { '--f': f ?? 0 } })), h('p.note', {}, h('br'), now ? [t('check.progress', { n: now.scanned }), rate ? ` · ${t('check.rate', { n: Math.round(rate) })}` : ''] : t('check.begin'))));
  }

  /** Findings of one kind stand together: what it is, why it matters, what repair writes. */
  function groups() {
    const by = new Map();
    for (const f of report.findings) { const k = f.code || f.kind || f.problem || 'finding'; (by.get(k) || by.set(k, []).get(k)).push(f); }
    return [...by];
  }

  async function repair() {
    const writes = report.findings.filter((f) => f.repair || f.repairable);
    const n = report.repairable || writes.length;
    const done = await ask({ title: t('check.ask', { n }), say: t('check.asksay'), command: 'worldkeep check --repair', verb: t('check.verb', { n }), keep: t('check.keep'), count: n, content: h('ul.twin', { tabindex: '0' }, writes.slice(0, 200).map((f) => h('li', {}, h('code', {}, f.key), h('div.note', {}, f.repair === true ? '' : f.repair)))) });
    if (done) run(true);
  }

  function draw(fault) {
    if (fault) {
      ctx.head({ title: t('check.title'), sentence: t('check.failed'), actions: runButton() });
      fill(body, errorBox(fault, () => run(false)));
      return;
    }
    if (!report) {
      ctx.head({ title: t('check.title'), sentence: t('check.never'), actions: null });
      fill(body, h('section.card', {}, empty({ glyph: 'check', title: t('check.neverhead'), say: t('check.neversay'), action: ctx.can('operator') ? runButton() : h('p.reason', {}, t('check.readonly')), command: 'worldkeep check' })));
      return;
    }
    const n = report.faults;
    const fix = report.repairable > 0 && ctx.can('operator') ? button({ label: t('check.preview', { n: report.repairable }), icon: 'wrench', run: repair }) : null;
    ctx.head({ title: n ? t('check.found', { n }) : t('check.clean'), sentence: t('check.summary', { n: report.scanned, took: report.tookMs == null ? '–' : age(report.tookMs, true), at: report.at ? when(report.at) : '–' }), actions: [fix, runButton()].filter(Boolean) });
    const ok = (what, count) => h('li', {}, icon('tick', { class: 'ok', label: t('verdict.ok') }), h('b', {}, what), h('span.what.quiet', {}, count), badge('ok', t('verdict.ok')));
    const kinds = groups();
    fill(body, h('section.card', { 'aria-label': t('check.title') }, h('ul.verdicts', {},
      ok(t('check.walked'), t('keys.count', { n: report.scanned })),
      report.foreign != null && h('li', {}, icon('info', { class: 'dim' }), h('b', {}, t('check.foreign')), h('span.what.quiet', {}, t('check.foreignsay', { n: report.foreign })), badge('idle', t('check.nofault'))),
      n === 0 && [ok(t('check.types'), t('check.typessay')), ok(t('check.index'), t('check.indexsay'))])),
    kinds.map(([kind, list]) => h('section.card.flush', {}, h('div.cardhead', {}, h('span', {}, ' '), icon('warn', { class: 'warn' }), h('h2', {}, kindWord(kind)), badge('warn', num(list.length))), tableOf(list))));
  }

  const kindWord = (kind) => { const word = t(`finding.${kind}`); return word === `finding.${kind}` ? String(kind).replace(/[_-]/g, ' ') : word; };

  function tableOf(list) {
    const table = document.createElement('wk-table').setup({
      label: t('check.title'), key: (f) => f.key + (f.member || '') + (f.sentence || ''), href: (f) => `/keys?key=${encodeURIComponent(f.key)}`,
      columns: [{ id: 'key', name: t('key.key'), wide: true, cell: (f) => h('a.mono', { href: `/keys?key=${encodeURIComponent(f.key)}` }, f.key) }, { id: 'sentence', name: t('check.what'), wide: true, cell: (f) => f.sentence || f.says || f.detail || '' }, { id: 'repair', name: t('check.writes'), wide: true, cell: (f) => (f.repair ? h('span.quiet', {}, f.repair === true ? t('check.can') : f.repair) : h('span.dim', {}, t('check.byhand'))) }],
    });
    table.show(list.slice(0, 500));
    return table;
  }

  (async () => {
    try { report = readReport(await api.get('/api/check', { signal: ctx.signal, quiet: true })); if (report && report.at == null && !report.running) report = null; } catch (e) { if (ctx.signal.aborted) return; if (e.status !== 404) { draw(e); return; } }
    if (!busy) draw();
  })();
  return {};
}
