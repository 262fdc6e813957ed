// The doctor of the queue: looks on request, says what is wrong and why, mends on a second request.
import { fill, h, icon } from '../../base/dom.js';
import { num } from '../../base/format.js';
import { need, t } from '../../base/i18n.js';
import { ask, toast } from '../../base/overlay.js';
import { badge, button, empty, errorBox, skeleton } from '../../base/parts.js';
import { said, sentence } from '../../base/said.js';
import { frame, namespaces } from './frame.js';

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  /** @type {Api.Numbers} */
  let stats = null;
  /** @type {Api.Report} */
  let report = null;
  const { body, ns } = frame(root, ctx, 'doctor', (n) => {
    stats = n;
    head();
  });
  const box = h('div.stack');
  fill(body, box);

  async function look() {
    fill(box, h('section.card', {}, skeleton(5)));
    try {
      await need(['check', 'saidjobs', 'saidcheck']);
      report = await ctx.api.get('/api/jobs:doctor', { query: { ns: ns() }, signal: ctx.signal, timeout: 120000 });
      draw();
    } catch (e) {
      if (!ctx.signal.aborted) fill(box, errorBox(e, look));
    }
  }

  const mend = () =>
    ask({
      title: t('jobs.doctor.asktitle', { n: report.findings_total }),
      say: t('jobs.doctor.asksay'),
      command: 'worldkeep jobs doctor --repair',
      verb: t('jobs.doctor.repair', { n: report.findings_total }),
      danger: false,
      count: report.findings_total,
      run: async () => {
        report = await ctx.api.post('/api/jobs:doctor', { repair: true }, { query: { ns: ns() }, timeout: 120000 });
        toast(t('jobs.doctor.done', { n: report.repaired }));
        draw();
      },
    });

  function draw() {
    const n = report.findings_total;
    fill(
      box,
      h(
        'section.card',
        {},
        h(
          'div.healthy',
          { class: n ? 'bad' : '' },
          icon(n ? 'warn' : 'tick'),
          h('b', {}, t(n ? 'jobs.doctor.found' : 'jobs.doctor.well', { n, keys: report.scanned })),
        ),
        report.warnings.map((w) => h('div.banner', {}, icon('warn'), h('span.text', {}, sentence(said(w))))),
      ),
      n > 0 &&
        h(
          'section.card.flush',
          { 'aria-label': t('jobs.doctor.findings') },
          h(
            'ul.letters',
            {},
            report.findings.map((f) =>
              h(
                'li.finding',
                {},
                badge(f.repaired ? 'ok' : 'warn', t(f.repaired ? 'jobs.doctor.repaired' : `trouble.${f.kind}`)),
                h('span', {}, sentence(said(f)), f.entry && [' ', h('code', {}, f.entry)]),
                /:/.test(f.about)
                  ? h('a.mono.cut', { href: `/keys?key=${encodeURIComponent(f.about)}` }, f.about)
                  : h('span.mono.cut', {}, f.about),
              ),
            ),
          ),
          n > report.findings.length && h('p.note', {}, t('jobs.doctor.more', { n: num(n - report.findings.length) })),
        ),
    );
    head();
  }

  function head() {
    ctx.head({
      title: t('jobs.tab.doctor'),
      sentence: t('jobs.doctor.say'),
      actions: [
        namespaces(ctx, stats),
        button({
          label: t(report ? 'jobs.doctor.again' : 'jobs.doctor.look'),
          icon: 'check',
          kind: report ? 'plain' : 'primary',
          run: look,
        }),
        report?.remaining > 0 &&
          ctx.can('operator') &&
          button({
            label: t('jobs.doctor.repair', { n: report.remaining }),
            icon: 'wrench',
            kind: 'primary',
            run: mend,
          }),
      ].filter(Boolean),
    });
    ctx.echo({ cli: 'worldkeep jobs doctor', api: `GET ${ctx.api.address('/api/jobs:doctor', { ns: ns() })}` });
  }
  fill(
    box,
    empty({
      glyph: 'check',
      title: t('jobs.doctor.never'),
      say: t('jobs.doctor.neversay'),
      action: button({ label: t('jobs.doctor.look'), icon: 'check', kind: 'primary', run: look }),
      command: 'worldkeep jobs doctor',
    }),
  );
  head();
}
