// The check: walks the store, reports what is wrong in sentences, and repairs after showing every write.
import { fill, h, icon } from '../base/dom.js';
import { ms, num, when } from '../base/format.js';
import { t } from '../base/i18n.js';
import { ask, toast } from '../base/overlay.js';
import { badge, button, empty, errorBox, skeleton } from '../base/parts.js';
import { said } from '../base/said.js';
import '../base/table.js';

const POLL_MS = 400;

// What repair does by the word of the trouble. The others have no safe cure: somebody must look.
const CURES = [
  'dangling',
  'in_use',
  'miscounted',
  'misplaced',
  'missing',
  'orphan',
  'twice',
  'unlisted',
  'wrong_life',
  'wrong_state',
];

/** The report as the page uses it.
 *  @param {Api.CheckState} r
 *  @returns {Api.CheckState & {findings: any[], running: boolean, left: number, repairable: number}} */
export function readReport(r) {
  if (!r || r.state === 'never') return null;
  const findings = r.findings || [];
  return {
    ...r,
    findings,
    running: r.state === 'running',
    left: (r.findings_total ?? findings.length) - (r.repaired || 0),
    repairable: findings.filter((f) => CURES.includes(f.trouble) && !f.repaired).length,
  };
}

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const { api } = ctx;
  const body = h('div.stack', {}, h('section.card', {}, skeleton(6)));
  fill(root, body);
  ctx.echo({ cli: 'worldkeep check', api: 'POST /api/check' });
  /** @type {ReturnType<typeof readReport>} */
  let report = null;
  let busy = false;
  let started = null;

  const runButton = () =>
    ctx.can('operator')
      ? button({
          label: t(report ? 'check.again' : 'check.run'),
          icon: 'check',
          kind: 'primary',
          run: () => run(false),
        })
      : null;

  const look = async () => readReport(await api.get('/api/check', { signal: ctx.signal, quiet: true }));

  /** Somebody else's run: watch it to its end. */
  async function follow() {
    busy = true;
    try {
      for (;;) {
        const now = await look();
        if (!now?.running) {
          report = now;
          break;
        }
        started = now.started_at;
        drawRunning(now);
        await new Promise((r) => {
          setTimeout(r, POLL_MS);
        });
      }
      busy = false;
      draw();
    } catch (e) {
      busy = false;
      if (!ctx.signal.aborted) draw(e);
    }
  }

  async function run(repair) {
    if (busy) return;
    busy = true;
    started = Date.now();
    drawRunning(null);
    const poll = setInterval(async () => {
      try {
        const now = await look();
        if (busy && now?.running) drawRunning(now);
      } catch {
        /* the run itself reports */
      }
    }, POLL_MS);
    try {
      report = readReport(await api.post('/api/check', { repair }, { timeout: 600000, signal: ctx.signal }));
      busy = false;
      if (repair) toast(t('check.repaired', { n: report.repaired }), { glyph: report.repaired ? 'tick' : 'info' });
      draw();
    } catch (e) {
      busy = false;
      if (ctx.signal.aborted) return;
      if (e.status === 409) follow();
      else draw(e);
    } finally {
      clearInterval(poll);
    }
  }

  function drawRunning(now) {
    const f = now?.total ? Math.min(1, now.scanned / now.total) : null;
    const rate = now?.scanned && started ? now.scanned / Math.max(0.2, (Date.now() - started) / 1000) : null;
    ctx.head({
      title: t('check.running'),
      sentence: now ? t('check.progress', { n: now.scanned }) : t('check.begin'),
      actions: null,
    });
    fill(
      body,
      h(
        'section.card',
        { 'aria-busy': 'true' },
        h(
          'div.progress',
          {
            class: f == null ? 'unknown' : '',
            role: 'progressbar',
            'aria-label': t('check.running'),
            'aria-valuemin': '0',
            'aria-valuemax': '100',
            'aria-valuenow': f == null ? null : Math.round(f * 100),
          },
          h('i', { vars: { '--f': f ?? 0 } }),
        ),
        h(
          'p.note',
          {},
          h('br'),
          now
            ? [t('check.progress', { n: now.scanned }), rate ? ` · ${t('check.rate', { n: Math.round(rate) })}` : '']
            : t('check.begin'),
        ),
      ),
    );
  }

  /** Findings of one trouble stand together: what it is, why it matters, what repair does. */
  function groups() {
    const by = new Map();
    for (const f of report.findings) (by.get(f.trouble) || by.set(f.trouble, []).get(f.trouble)).push(f);
    return [...by];
  }

  async function repair() {
    const writes = report.findings.filter((f) => CURES.includes(f.trouble) && !f.repaired);
    const n = writes.length;
    const done = await ask({
      title: t('check.ask', { n }),
      say: t('check.asksay'),
      command: 'worldkeep check --repair',
      verb: t('check.verb', { n }),
      keep: t('check.keep', { n }),
      count: n,
      content: h(
        'ul.twin.lines',
        { tabindex: '0', 'aria-label': t('check.writes') },
        writes
          .slice(0, 200)
          .map((f) =>
            h(
              'li',
              {},
              h('code', {}, f.key),
              f.entry && h('code', {}, ` · ${f.entry}`),
              h('div.note', {}, t(`repair.${f.trouble}`)),
            ),
          ),
      ),
    });
    if (done) run(true);
  }

  function draw(fault) {
    if (fault) {
      ctx.head({ title: t('check.title'), sentence: t('check.failed'), actions: runButton() });
      fill(
        body,
        errorBox(fault, () => run(false)),
      );
      return;
    }
    if (!report) {
      ctx.head({ title: t('check.title'), sentence: t('check.never'), actions: null });
      fill(
        body,
        h(
          'section.card',
          {},
          empty({
            glyph: 'check',
            title: t('check.neverhead'),
            say: t('check.neversay'),
            action: ctx.can('operator') ? runButton() : h('p.reason', {}, t('check.readonly')),
            command: 'worldkeep check',
          }),
        ),
      );
      return;
    }
    if (report.state === 'failed') {
      ctx.head({ title: t('check.title'), sentence: t('check.failed'), actions: runButton() });
      fill(
        body,
        h(
          'section.card',
          {},
          h('div.healthy.bad', { role: 'alert' }, icon('warn'), h('span', {}, report.reason || t('error.unknown'))),
        ),
      );
      return;
    }
    const n = report.left;
    const fix =
      report.repairable > 0 && ctx.can('operator')
        ? button({
            label: t('check.preview', { n: report.repairable }),
            icon: 'wrench',
            run: () => {
              repair();
            },
          })
        : null;
    ctx.head({
      title: n ? t('check.found', { n }) : t('check.clean'),
      sentence: t('check.summary', {
        n: report.scanned,
        took: ms(Math.max(1, report.took_ms)),
        at: when(report.finished_at),
      }),
      actions: [fix, runButton()].filter(Boolean),
    });
    const ok = (what, count) =>
      h(
        'li',
        {},
        icon('tick', { class: 'ok', label: t('verdict.ok') }),
        h('b', {}, what),
        h('span.what.quiet', {}, count),
        badge('ok', t('verdict.ok')),
      );
    const kinds = groups();
    fill(
      body,
      h(
        'section.card',
        { 'aria-label': t('check.title') },
        h(
          'ul.verdicts',
          {},
          ok(t('check.walked'), t('keys.count', { n: report.scanned })),
          report.foreign != null &&
            h(
              'li',
              {},
              icon('info', { class: 'dim' }),
              h('b', {}, t('check.foreign')),
              h('span.what.quiet', {}, t('check.foreignsay', { n: report.foreign })),
              badge('idle', t('check.nofault')),
            ),
          n === 0 && [ok(t('check.types'), t('check.typessay')), ok(t('check.index'), t('check.indexsay'))],
        ),
      ),
      kinds.map(([kind, list]) =>
        h(
          'section.card.flush',
          {},
          h(
            'div.cardhead',
            {},
            icon('warn', { class: 'warn' }),
            h('h2', {}, t(`trouble.${kind}`)),
            badge('warn', num(report.troubles?.[kind] ?? list.length)),
            h('span.note', {}, t(`trouble.${kind}.why`)),
          ),
          tableOf(list),
        ),
      ),
      report.left_off > 0 && h('p.note', {}, t('check.leftoff', { n: report.left_off })),
    );
  }

  function tableOf(list) {
    const table = h('wk-table').setup({
      label: t('check.title'),
      key: (f) => `${f.key} ${f.entry || ''}`,
      href: (f) => `/keys?key=${encodeURIComponent(f.key)}`,
      columns: [
        {
          id: 'key',
          name: t('key.key'),
          wide: true,
          sort: true,
          cell: (f) => h('a.mono', { href: `/keys?key=${encodeURIComponent(f.key)}` }, f.key),
        },
        {
          id: 'detail',
          name: t('check.what'),
          wide: true,
          cell: (f) => [said({ sentence: f.detail, said: f.said }), f.entry && [' ', h('code', {}, f.entry)]],
        },
        {
          id: 'repair',
          name: t('check.writes'),
          wide: true,
          cell: (f) =>
            f.repaired
              ? badge('ok', t('check.done'))
              : h(
                  'span',
                  { class: CURES.includes(f.trouble) ? 'quiet' : 'dim' },
                  t(CURES.includes(f.trouble) ? `repair.${f.trouble}` : 'check.byhand'),
                  f.remedy && [' ', h('code', {}, f.remedy)],
                ),
        },
      ],
    });
    table.show(list.slice(0, 500));
    return table;
  }

  (async () => {
    try {
      report = await look();
    } catch (e) {
      if (!ctx.signal.aborted) draw(e);
      return;
    }
    if (report?.running) {
      follow();
      return;
    }
    if (!busy) draw();
  })();
  return {};
}
