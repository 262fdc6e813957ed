// What lies over the map: names that do not collide, arrows to what is out of sight, the scale.
import { num } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { crowd } from './craft.js';
import { dist, scaleBar } from './units.js';

/** Names beside their marks; `taken` are boxes that must stay free. */
export function names(p, taken) {
  const { c, see } = p;
  for (const m of p.marks) {
    m.title = m.b ? m.b.name : m.name;
    m.note = m.b ? crowd(p, m.b) : m.note;
    p.font(12.5, m.rank < 6 ? 620 : 420);
    m.w = c.measureText(m.title).width + 6;
    p.font(11);
    if (m.note) m.w = Math.max(m.w, c.measureText(m.note).width + 6);
    m.h = m.note ? 30 : 17;
  }
  for (const { mark: m, box, side, leader } of see.labels.place(p.marks, { w: p.w, h: p.h, taken }, see.wall)) {
    const align = { right: 'left', left: 'right', above: 'center', below: 'center' }[side];
    const x = { right: box.x + 2, left: box.x + box.w - 2, above: m.x, below: m.x }[side];
    if (leader) {
      c.strokeStyle = p.color('--sky-note');
      c.globalAlpha = 0.6;
      c.lineWidth = 1;
      const far = { right: [1, 0], left: [-1, 0], above: [0, -1], below: [0, 1] }[side];
      p.line([
        { x: m.x + far[0] * (m.r + 3), y: m.y + far[1] * (m.r + 3) },
        { x: m.x + far[0] * (m.r + 20), y: m.y + far[1] * (m.r + 20) },
      ]);
      c.globalAlpha = 1;
    }
    const tone = m.tone || (m.rank === 0 ? '--sky-own' : '--sky-label');
    p.text(m.title, x, box.y + 13, { px: 12.5, weight: m.rank < 6 ? 620 : 420, tone, align });
    if (m.note) p.text(m.note, x, box.y + 27, { px: 11, tone: '--sky-note', align });
    p.boxes.push(box);
    p.places.push({ key: m.key, x: box.x + box.w / 2, y: box.y + box.h / 2, r: 9, half: box.w / 2 });
  }
}

/** What matters and is out of sight: an arrow on the edge with its name and how far it is. */
export function edges(p) {
  const { c, see, view } = p;
  const wide = view.mpp * view.diag > 3e9;
  const want = [...see.sky.all()].filter(
    (e) => e.at && (e.key === see.selected || (e.kind === 'body' && (!e.parent || (wide && e.held && !e.held.parent)))),
  );
  const out = want
    .map((e) => ({ e, s: view.to(e.at), d: Math.hypot(e.at.x - view.c.x, e.at.y - view.c.y) }))
    .filter(({ s, e }) => !p.inside(s, Math.min(e.shown || 0, 3000)))
    .sort((a, b) => Number(b.e.key === see.selected) - Number(a.e.key === see.selected) || a.d - b.d)
    .slice(0, 4);
  const [left, top, right, low] = see.edges;
  const bottom = low + 46;
  const used = [];
  for (const { e, s, d } of out) {
    const [cx, cy] = [(left + p.w - right) / 2, (top + p.h - bottom) / 2];
    const [dx, dy] = [s.x - cx, s.y - cy];
    const k = Math.min((cx - left) / Math.abs(dx || 1e-9), (cy - top) / Math.abs(dy || 1e-9));
    const at = { x: cx + dx * k, y: cy + dy * k };
    if (used.some((u) => Math.abs(u.y - at.y) < 34 && Math.abs(u.x - at.x) < 120)) continue;
    used.push(at);
    const a = Math.atan2(dy, dx);
    c.fillStyle = e.kind === 'body' ? p.tint(e) : p.color('--sky-own');
    c.beginPath();
    c.moveTo(at.x + 7 * Math.cos(a), at.y + 7 * Math.sin(a));
    c.lineTo(at.x + 7 * Math.cos(a + 2.4), at.y + 7 * Math.sin(a + 2.4));
    c.lineTo(at.x + 7 * Math.cos(a - 2.4), at.y + 7 * Math.sin(a - 2.4));
    c.fill();
    const flip = at.x > p.w / 2;
    const x = at.x + (flip ? -14 : 14);
    const align = flip ? 'right' : 'left';
    p.text(e.name, x, at.y - 1, { px: 12.5, weight: 620, align });
    p.text(t('galaxy.away', { far: dist(d) }), x, at.y + 13, { px: 11, tone: '--sky-note', align });
    p.boxes.push({ x: flip ? at.x - 110 : at.x - 8, y: at.y - 16, w: 118, h: 32 });
    p.places.push({ key: e.key, x: at.x, y: at.y, r: 14 });
  }
}

/** The scale bar, with a second unit. */
export function scale(p) {
  const { c, h, view, see } = p;
  const bar = scaleBar(view.mpp);
  const x = see.edges[0] + (p.w > 700 ? 236 : 0);
  const y = h - see.edges[3] + 6;
  p.boxes.push({ x: x - 10, y: y - 10, w: bar.px + 70, h: 30 });
  c.strokeStyle = p.color('--sky-label');
  c.lineWidth = 1.2;
  c.beginPath();
  for (const k of [0, 0.5, 1]) {
    c.moveTo(x + bar.px * k, y - (k === 0.5 ? 3 : 6));
    c.lineTo(x + bar.px * k, y);
  }
  c.moveTo(x, y);
  c.lineTo(x + bar.px, y);
  c.stroke();
  p.text(num(0), x, y + 15, { px: 11, tone: '--sky-note', align: 'center' });
  if (bar.other) p.text(bar.other, x + bar.px / 2, y + 15, { px: 11, tone: '--sky-note', align: 'center' });
  p.text(bar.name, x + bar.px, y + 15, { px: 11, align: bar.other ? 'left' : 'center' });
}
