// Charts of the last five minutes or the last day, out of `GET /api/history`. The past is there when a page opens, a time
// that nobody measured is a gap, and all charts of a page share one answer.
import { get } from './api.js';
import { asTable } from './charts.js';
import { h } from './dom.js';
import { t } from './i18n.js';

const RANGES = ['5m', '24h'];
const EVERY = { '5m': 5000, '24h': 60000 };
/** The last answer per range, so that charts of one page ask once. */
const asked = new Map();

export async function history(range) {
  const kept = asked.get(range);
  if (kept && Date.now() - kept.at < EVERY[range] / 2) return kept.answer;
  const answer = get('/api/history', { query: { range } });
  asked.set(range, { at: Date.now(), answer });
  answer.catch(() => asked.delete(range));
  return answer;
}

/** Buttons that choose how far back a chart goes. */
export function ranges(chosen, choose) {
  const choices = h(
    'span.ranges',
    { role: 'group', 'aria-label': t('chart.range') },
    RANGES.map((one) =>
      h(
        'button',
        {
          type: 'button',
          'aria-pressed': String(one === chosen),
          on: {
            click: () => {
              for (const el of choices.children)
                el.setAttribute('aria-pressed', String(el.getAttribute('data-range') === one));
              choose(one);
            },
          },
          'data-range': one,
        },
        t(`chart.range.${one}`),
      ),
    ),
  );
  return choices;
}

/** A card with a chart and its range. `pick(series)` gives the line that a series is drawn as, or null.
 *  @param {{signal: AbortSignal}} ctx
 *  @param {{id: string, title: string, note?: string, cls?: string, format?: (n: number) => string, height?: string,
 *    pick: (series: Api.Series) => {id: string, name: string, module?: string, dash?: string | null} | null,
 *    held?: () => boolean}} o */
export function historyCard(ctx, { id, title, note, cls = '', format, height = '14rem', pick, held = () => false }) {
  let range = RANGES[0];
  const chart = h('wk-line');
  chart.style.height = height;
  const choices = ranges(range, (one) => {
    range = one;
    ask();
  });
  const said = h('span.note', {}, note || '');
  const card = h(
    'section.card',
    { 'aria-labelledby': id, class: cls, hidden: true },
    h('header', {}, h('h2', { id }, title), said, h('span.end', {}, choices, asTable(chart))),
    chart,
  );

  /** @param {Api.History} answer */
  function draw(answer) {
    const series = answer.series.flatMap((one) => {
      const line = pick(one);
      return line ? [{ ...line, points: one.points }] : [];
    });
    const n = series[0]?.points.length || 0;
    card.hidden = !n;
    card.dispatchEvent(new CustomEvent('drawn'));
    if (!n) return;
    chart.set({
      at: Array.from({ length: n }, (_, i) => answer.from + i * answer.every_ms),
      label: title,
      format,
      series,
    });
  }

  let timer;
  async function ask() {
    clearTimeout(timer);
    if (ctx.signal.aborted) return;
    timer = setTimeout(ask, EVERY[range]);
    if (document.hidden || held()) return;
    const now = range;
    try {
      const answer = await history(now);
      if (!ctx.signal.aborted && now === range) draw(answer);
    } catch (e) {
      // A token with limits gets no history of everybody.
      if (e.status === 403) clearTimeout(timer);
    }
  }
  ctx.signal.addEventListener('abort', () => clearTimeout(timer));
  document.addEventListener('visibilitychange', () => !document.hidden && ask(), { signal: ctx.signal });
  ask();
  return card;
}
