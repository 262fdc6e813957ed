// The pointer over the map: a click selects, a second one follows, a drag moves the view, the wheel and two fingers zoom.

/** What is under the pointer: the nearest mark, or a name. */
export function find(places, p) {
  let best = null;
  for (const x of places) {
    const dx = Math.max(0, Math.abs(x.x - p.x) - (x.half || 0));
    const d = Math.hypot(dx, x.y - p.y);
    // Of two that overlap the smaller one is meant.
    if (d <= x.r + 4 && (!best || x.r < best.r || (x.r === best.r && d < best.d))) best = { ...x, d };
  }
  return best;
}

/** `o`: scale(), places(), pan(dx, dy), zoom(k, x, y), click(key or null), open(key). */
export function follow(el, o) {
  const down = new Map();
  let moved = 0;
  let spread = 0;
  const spot = (e) => {
    const box = el.getBoundingClientRect();
    const k = o.scale();
    return { x: (e.clientX - box.left) / k, y: (e.clientY - box.top) / k };
  };
  const pair = () => {
    const [a, b] = [...down.values()];
    return { far: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  };
  el.addEventListener('pointerdown', (e) => {
    if (e.button) return;
    if (!down.size) moved = 0;
    down.set(e.pointerId, spot(e));
    el.setPointerCapture(e.pointerId);
    if (down.size === 2) spread = pair().far;
  });
  el.addEventListener('pointermove', (e) => {
    const p = spot(e);
    const was = down.get(e.pointerId);
    if (!was) {
      if (!down.size) el.classList.toggle('over', !!find(o.places(), p));
      return;
    }
    const before = down.size === 2 ? pair() : null;
    down.set(e.pointerId, p);
    if (before) {
      const now = pair();
      o.pan(now.x - before.x, now.y - before.y);
      if (spread > 10 && before.far > 10) o.zoom(now.far / before.far, now.x, now.y);
      moved = 99;
      return;
    }
    moved += Math.hypot(p.x - was.x, p.y - was.y);
    if (moved > 6) o.pan(p.x - was.x, p.y - was.y);
  });
  const up = (e) => {
    const had = down.delete(e.pointerId);
    if (!had || down.size || moved > 6 || e.type === 'pointercancel') return;
    o.click(find(o.places(), spot(e))?.key || null);
  };
  el.addEventListener('pointerup', up);
  el.addEventListener('pointercancel', up);
  el.addEventListener('dblclick', (e) => {
    const key = find(o.places(), spot(e))?.key;
    if (key && !key.startsWith('crowd')) o.open(key);
  });
  el.addEventListener(
    'wheel',
    (e) => {
      e.preventDefault();
      const p = spot(e);
      const lines = e.deltaMode ? e.deltaY * 18 : e.deltaY;
      o.zoom(Math.exp(-Math.max(-120, Math.min(120, lines)) / 260), p.x, p.y);
    },
    { passive: false },
  );
}
