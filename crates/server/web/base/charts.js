// Hand-made SVG charts: sparkline, line, bars, histogram. Y starts at 0, four round lines, names at the line's end,
// a gap where data is missing, and each chart can be shown as a table. Colours come from classes only.
import { define, fill, h, s, square, uid } from './dom.js';
import { clock, num, when } from './format.js';
import { t } from './i18n.js';

/** Dash of each module's line, so that colour is never alone. */
export const DASH = { jobs: null, galaxy: '7 3', monsters: '2 3', rooms: '10 3 2 3', reactors: '4 2' };

/** A round top for a scale and its step: 1, 2, 5 × 10ⁿ, four lines. */
export function scale(max) {
  if (!(max > 0)) return { top: 4, step: 1 };
  const raw = max / 4;
  const ten = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * ten).find((m) => m >= raw - 1e-12);
  return { top: step * 4, step };
}

const MIN = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 360].map((n) => n * MIN);

/** At most `most` whole clock times between two times. */
export function times(from, to, most) {
  if (!(to > from)) return [];
  const step = STEPS.find((one) => (to - from) / one <= most) || 720 * MIN;
  // Hours are those of the clock on the wall.
  const shift = new Date(from).getTimezoneOffset() * MIN;
  const out = [];
  for (let time = Math.ceil((from - shift) / step) * step + shift; time <= to; time += step) out.push(time);
  return out;
}

/** Path pieces of a series; null values cut the line. */
export function path(points, x, y) {
  let d = '';
  let pen = false;
  points.forEach((v, i) => {
    if (v == null || !Number.isFinite(v)) {
      pen = false;
      return;
    }
    d += `${pen ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    // A value between two gaps is a point, drawn by the round end of a line without length.
    if (!pen && points[i + 1] == null) d += 'h0';
    pen = true;
  });
  return d;
}

export class Spark extends HTMLElement {
  /** 60–90 values, oldest first. The last is the number beside it. */
  set(points) {
    if (!this.line) {
      this.setAttribute('aria-hidden', 'true');
      this.area = s('path', { class: 'area' });
      this.line = s('path', { class: 'series' });
      this.append(s('svg', { viewBox: '0 0 100 40', preserveAspectRatio: 'none' }, this.area, this.line));
    }
    const known = points.filter((v) => v != null);
    if (!known.length) return;
    const [low, high] = [Math.min(...known), Math.max(...known)];
    // A number that hardly moves draws a calm line in the middle, not a mountain.
    const room = Math.max(high - low, high * 0.3, 1);
    const n = Math.max(points.length - 1, 1);
    const x = (i) => (i / n) * 100;
    const y = (v) => 20 - ((v - (low + high) / 2) / room) * 26;
    this.line.setAttribute('d', path(points, x, y));
    const solid = points.every((v) => v != null) && points.length > 1;
    this.area.setAttribute('d', solid ? `${path(points, x, y)}L100 40L0 40Z` : '');
  }
}
define('wk-spark', Spark);

/** Lines over time: `set({at: [ms…], series: [{id, name, module, points}], format})`. */
export class LineChart extends HTMLElement {
  constructor() {
    super();
    this.pos = null;
    this.hatch = uid('hatch');
    this.size = new ResizeObserver(() => this.draw());
  }
  connectedCallback() {
    this.classList.add('chart');
    if (!this.svg) {
      this.svg = s('svg', { role: 'img', tabindex: '0' });
      this.box = h('div.readout', { hidden: true });
      this.append(this.svg, this.box);
      this.addEventListener('pointermove', (e) => this.at(e.clientX));
      this.addEventListener('pointerleave', () => this.point(null));
      this.svg.addEventListener('keydown', (e) => this.onKey(e));
      this.svg.addEventListener('blur', () => this.point(null));
    }
    this.size.observe(this);
  }
  disconnectedCallback() {
    this.size.disconnect();
  }

  set(data) {
    this.data = data;
    this.draw();
    if (this.pos != null) this.point(this.pos);
  }

  onKey(e) {
    const n = this.data?.at.length || 0;
    if (!n) return;
    const now = this.pos ?? n - 1;
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: n - 1 }[e.key];
    if (e.key === 'Escape') {
      this.point(null);
      return;
    }
    if (to === undefined) return;
    e.preventDefault();
    this.point(Math.max(0, Math.min(n - 1, to)));
  }

  at(clientX) {
    if (!this.geo) return;
    const box = this.getBoundingClientRect();
    const i = Math.round(((clientX - box.left - this.geo.left) / this.geo.w) * (this.data.at.length - 1));
    this.point(i >= 0 && i < this.data.at.length ? i : null);
  }

  draw() {
    if (!this.svg || !this.data || !this.clientWidth) return;
    const { at, series, label } = this.data;
    const format = this.data.format || num;
    const W = this.clientWidth;
    const H = this.clientHeight || 220;
    const narrow = W < 420;
    const left = 40;
    const right = narrow ? 8 : 92;
    const top = 8;
    const bottom = 22;
    const w = W - left - right;
    const hgt = H - top - bottom;
    const max = Math.max(0, ...series.flatMap((x) => x.points.filter((v) => v != null)));
    // The scale only moves when a value leaves 20–95 % of it.
    if (!this.top || max > this.top * 0.95 || max < this.top * 0.2) {
      this.scale = scale(max * 1.05);
      this.top = this.scale.top;
    }
    const y = (v) => top + hgt - (v / this.top) * hgt;
    const n = Math.max(at.length - 1, 1);
    const x = (i) => left + (i / n) * w;
    this.geo = { left, w, top, hgt, x, y };
    this.svg.setAttribute('viewBox', `0 0 ${W} ${H}`);
    this.svg.setAttribute('aria-label', label || '');
    const kids = [];
    for (let i = 0; i <= 4; i += 1) {
      const yy = y(this.scale.step * i);
      kids.push(
        s('line', { class: `axis ${i ? '' : 'base'}`, x1: left, x2: left + w, y1: yy, y2: yy }),
        s('text', { class: 'ticktext', x: left - 8, y: yy + 4, 'text-anchor': 'end' }, format(this.scale.step * i)),
      );
    }
    for (const time of times(at[0], at.at(-1), narrow ? 3 : 6)) {
      const xx = left + ((time - at[0]) / (at.at(-1) - at[0])) * w;
      // A text at an edge stays inside.
      const anchor = xx - left < 16 ? 'start' : left + w - xx < 16 ? 'end' : 'middle';
      kids.push(s('text', { class: 'ticktext', x: xx, y: H - 4, 'text-anchor': anchor }, clock(time)));
    }
    kids.push(...this.gaps(at.length, series, x, top, hgt));
    const ends = [];
    for (const one of series) {
      const g = s('g', { class: one.module ? `m-${one.module}` : '' });
      g.append(
        s('path', {
          class: 'series',
          d: path(one.points, x, y),
          'stroke-dasharray': one.dash ?? DASH[one.module] ?? null,
        }),
      );
      kids.push(g);
      const lastAt = one.points.findLastIndex((v) => v != null);
      if (lastAt >= 0) ends.push({ one, y: y(one.points[lastAt]) });
    }
    if (!narrow) kids.push(...this.names(ends, left + w));
    this.layer = s('g');
    fill(this.svg, kids.filter(Boolean), this.layer);
  }

  /** Where no series has a value: hatched, and named where there is room. */
  gaps(n, series, x, top, hgt) {
    const hatch = { id: this.hatch, width: 8, height: 8, patternUnits: 'userSpaceOnUse' };
    const out = [s('defs', {}, s('pattern', hatch, s('path', { class: 'hatch', d: 'M0 8L8 0' })))];
    const none = (i) => series.every((one) => one.points[i] == null);
    for (let i = 0; i < n; i += 1) {
      if (!none(i)) continue;
      const from = i;
      while (i + 1 < n && none(i + 1)) i += 1;
      const [l, r] = [x(Math.max(from - 1, 0)), x(Math.min(i + 1, n - 1))];
      const box = { x: l, y: top, width: Math.max(r - l, 2), height: hgt, fill: `url(#${this.hatch})` };
      out.push(
        s(
          'g',
          {},
          s('rect', box),
          r - l > 90 &&
            s(
              'text',
              { class: 'ticktext', x: (l + r) / 2, y: top + hgt / 2, 'text-anchor': 'middle' },
              t('chart.nodata'),
            ),
        ),
      );
    }
    return out;
  }

  names(ends, edge) {
    ends.sort((a, b) => a.y - b.y);
    let low = -Infinity;
    const out = [];
    for (const e of ends) {
      const yy = Math.max(e.y, low + 15);
      low = yy;
      if (yy - e.y > 2) out.push(s('path', { class: 'leader', d: `M${edge + 1} ${e.y}L${edge + 7} ${yy}` }));
      out.push(
        s('rect', {
          class: `mark ${e.one.module ? `m-${e.one.module}` : ''}`,
          x: edge + 8,
          y: yy - 4,
          width: 8,
          height: 8,
          rx: 2,
        }),
        s('text', { class: 'nametext', x: edge + 21, y: yy + 4 }, e.one.name),
      );
    }
    return out;
  }

  point(i) {
    this.pos = i;
    if (!this.layer) return;
    if (i == null || !this.geo) {
      this.layer.replaceChildren();
      this.box.hidden = true;
      return;
    }
    const { x, y, top, hgt, left, w } = this.geo;
    const xx = x(i);
    fill(
      this.layer,
      s('line', { class: 'cross', x1: xx, x2: xx, y1: top, y2: top + hgt }),
      this.data.series.map(
        (one) =>
          one.points[i] != null &&
          s('circle', { class: `ringmark ${one.module ? `m-${one.module}` : ''}`, cx: xx, cy: y(one.points[i]), r: 3 }),
      ),
    );
    fill(
      this.box,
      h('b', {}, when(this.data.at[i])),
      this.data.series.map((one) =>
        h(
          'div',
          {},
          square(one.module),
          one.name,
          h('span.v', {}, one.points[i] == null ? t('chart.nodata') : (this.data.format || num)(one.points[i])),
        ),
      ),
    );
    this.box.hidden = false;
    const bw = this.box.offsetWidth;
    this.box.style.top = `${top}px`;
    this.box.style.left = `${xx - left > w / 2 ? xx - bw - 12 : xx + 12}px`;
  }

  /** The same data, as rows. */
  rows() {
    return {
      head: [t('chart.time'), ...this.data.series.map((x) => x.name)],
      rows: this.data.at
        .map((at, i) => [
          when(at),
          ...this.data.series.map((x) => (x.points[i] == null ? '–' : (this.data.format || num)(x.points[i]))),
        ])
        .reverse(),
    };
  }
}
define('wk-line', LineChart);

/** Counts by class with a log scale of times: `set({bins: [{to, n}], p50, p99, format})`. */
export class Histogram extends HTMLElement {
  set({ bins, marks = [], format = num, label }) {
    this.classList.add('chart');
    this.data = { bins, format };
    const W = 320;
    const H = 130;
    const base = H - 22;
    const max = Math.max(1, ...bins.map((b) => b.n));
    const bw = W / Math.max(bins.length, 1);
    const main = bins.findIndex((b) => b.n === max);
    const where = (v) => {
      const i = bins.findIndex((b) => v <= b.to);
      return ((i < 0 ? bins.length - 1 : i) + 0.5) * bw;
    };
    fill(
      this,
      s(
        'svg',
        { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': label || '' },
        bins.map((b, i) =>
          s('rect', {
            class: `histbar ${i <= main ? 'main' : ''}`,
            x: i * bw + 1,
            width: Math.max(bw - 2, 1),
            y: base - (b.n / max) * (base - 26),
            height: Math.max((b.n / max) * (base - 26), b.n ? 1 : 0),
            rx: 1.5,
          }),
        ),
        s('line', { class: 'axis base', x1: 0, x2: W, y1: base, y2: base }),
        marks.map((m, i) => {
          const xx = where(m.value);
          const end = xx > W * 0.6;
          return [
            s('line', { class: 'rule', x1: xx, x2: xx, y1: 4 + i * 16, y2: base }),
            s(
              'text',
              { class: 'ruletext', x: end ? xx - 5 : xx + 5, y: 13 + i * 16, 'text-anchor': end ? 'end' : 'start' },
              `${m.name} ${format(m.value)}`,
            ),
          ];
        }),
        bins.length > 2 &&
          [0, Math.floor(bins.length / 2), bins.length - 1].map((i, k) =>
            s(
              'text',
              { class: 'ticktext', x: [0, W / 2, W][k], y: H - 6, 'text-anchor': ['start', 'middle', 'end'][k] },
              format(bins[i].to),
            ),
          ),
      ),
    );
  }
  rows() {
    return {
      head: [t('chart.upto'), t('chart.count')],
      rows: this.data.bins.map((b) => [this.data.format(b.to), num(b.n)]),
    };
  }
}
define('wk-histogram', Histogram);

/** Named bars: `[{name, note, module, value, shown, href}]`. Reads as a list, so it needs no second table. */
export function bars(items) {
  const max = Math.max(1, ...items.map((i) => i.value || 0));
  return h(
    'ul.barlist',
    {},
    items.map((i) =>
      h(
        'li',
        {},
        h(
          i.href ? 'a' : 'div',
          { href: i.href || null },
          h('span.head2', {}, i.name, i.note && h('span.dim', {}, `· ${i.note}`), h('span.end', {}, i.shown)),
          h(
            'span.bar',
            { class: `${i.module ? `m-${i.module}` : ''} ${i.value ? '' : 'none'}` },
            h('i', { vars: { '--f': (i.value || 0) / max } }),
          ),
        ),
      ),
    ),
  );
}

/** A card's switch between a chart and its rows. Give it the chart; put what it returns into the card's head. */
export function asTable(chart) {
  const host = h('div.scroll', { hidden: true, tabindex: '0' });
  const el = h('button.btn.quiet.small', { type: 'button', 'aria-pressed': 'false' }, t('chart.table'));
  el.addEventListener('click', () => {
    const on = host.hidden;
    if (on) {
      const { head, rows } = chart.rows();
      fill(
        host,
        h(
          'table.t',
          {},
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              head.map((x, i) => h('th', { scope: 'col', class: i ? 'num' : '' }, x)),
            ),
          ),
          h(
            'tbody',
            {},
            rows.slice(0, 200).map((r) =>
              h(
                'tr',
                {},
                r.map((x, i) => h('td', { class: i ? 'num' : '' }, x)),
              ),
            ),
          ),
        ),
      );
      host.style.maxHeight = '20rem';
      chart.after(host);
    }
    host.hidden = !on;
    chart.hidden = on;
    el.setAttribute('aria-pressed', String(on));
    el.textContent = t(on ? 'chart.chart' : 'chart.table');
  });
  return el;
}
