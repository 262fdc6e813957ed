// A job's life as bars: waiting, tries that failed, the one that runs, and the lock that ends.
import { fill, h, s } from '../../base/dom.js';
import { age, ms, when } from '../../base/format.js';
import { t } from '../../base/i18n.js';

const BEGINS = new Set(['dispatched', 'promoted', 'requeued', 'recovered', 'orphan_requeued', 'fired']);
const ENDS = new Set(['completed', 'failed', 'dead', 'retried', 'cancelled', 'recovered']);

/** Spans and tries out of the events of one job: `{spans: [{kind, from, to, name, try}], tries: […]}`. */
export function life(events, now, running) {
  const spans = [];
  const tries = [];
  let waits = null; // since when it waits
  let backoff = false;
  let run = null;
  for (const e of events) {
    if (e.type === 'claimed') {
      if (waits != null) spans.push({ kind: backoff ? 'backoff' : 'waiting', from: waits, to: e.at });
      run = { from: e.at, worker: e.body?.worker || e.body?.by || '', waited: waits == null ? null : e.at - waits };
      waits = null;
    } else if (ENDS.has(e.type) && run) {
      const good = e.type === 'completed';
      const one = {
        n: tries.length + 1,
        ...run,
        to: e.at,
        outcome: good ? 'completed' : e.body?.error || e.type,
        good,
      };
      tries.push(one);
      spans.push({ kind: good ? 'done' : 'failed', from: run.from, to: e.at, try: one.n });
      run = null;
      waits = ['retried', 'recovered'].includes(e.type) ? e.at : null;
      backoff = e.type === 'retried';
    } else if (BEGINS.has(e.type)) {
      if (waits == null) waits = e.at;
      if (e.type !== 'promoted') backoff = false;
    }
  }
  if (run || running) {
    const from = run?.from ?? running.from;
    tries.push({
      n: tries.length + 1,
      from,
      to: null,
      worker: run?.worker || running?.worker || '',
      waited: run?.waited ?? null,
      outcome: 'active',
    });
    spans.push({ kind: 'active', from, to: now, try: tries.length });
  } else if (waits != null) spans.push({ kind: backoff ? 'backoff' : 'waiting', from: waits, to: now });
  return { spans, tries };
}

/** Draws them into a card. A short span stays visible: widths are by the root of the time, never below a finger. */
export function drawLife(host, { spans }, lockEndsAt) {
  const W = Math.max(host.clientWidth, 300);
  const H = 92;
  if (!spans.length) {
    fill(host, h('p.quiet', {}, t('jobs.life.none')));
    return;
  }
  const all = lockEndsAt ? [...spans, { kind: 'lock', from: spans.at(-1).to, to: lockEndsAt }] : spans;
  const weight = all.map((x) => Math.sqrt(Math.max(x.to - x.from, 1)));
  const sum = weight.reduce((a, b) => a + b, 0);
  const least = Math.min(26, W / all.length);
  const room = W - least * all.length;
  let x = 0;
  const kids = [];
  all.forEach((span, i) => {
    const w = least + (room * weight[i]) / sum;
    const name =
      span.kind === 'waiting' || span.kind === 'backoff' || span.kind === 'lock'
        ? t(`jobs.life.${span.kind}`, { age: ms(span.to - span.from) })
        : t('jobs.life.try', { n: span.try, age: ms(span.to - span.from) });
    const tall = span.kind === 'waiting' || span.kind === 'backoff' || span.kind === 'lock' ? 18 : 28;
    const y = 30 + (28 - tall) / 2;
    kids.push(
      s(
        'rect',
        { class: `life life-${span.kind}`, x: x + 1, y, width: Math.max(w - 2, 2), height: tall, rx: 4 },
        s('title', {}, `${name} · ${when(span.from)}`),
      ),
      w > 74 &&
        s(
          'text',
          { class: `lifetext life-${span.kind}`, x: x + w / 2, y: 49, 'text-anchor': 'middle' },
          w > 150 ? name : t(`jobs.life.short.${span.kind}`, { n: span.try || '' }),
        ),
      (i === 0 || w > 110) && s('text', { class: 'ticktext', x: x + 2, y: 80 }, when(span.from)),
    );
    if (i === spans.length - 1 && span.kind === 'active')
      kids.push(
        s('line', { class: 'nowline', x1: x + w, x2: x + w, y1: 20, y2: 66 }),
        s('text', { class: 'nametext', x: x + w, y: 14, 'text-anchor': 'middle' }, t('jobs.life.now')),
      );
    x += w;
  });
  fill(
    host,
    s(
      'svg',
      {
        viewBox: `0 0 ${W} ${H}`,
        role: 'img',
        'aria-label': t('jobs.life.label', { n: spans.length, age: age(spans.at(-1).to - spans[0].from) }),
      },
      kids.filter(Boolean),
    ),
  );
}
