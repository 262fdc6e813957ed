// The pointer over a field: a click selects or marks a place, a drag moves the view, the wheel with a key held zooms.
import { toField, zoom } from './camera.js';

/** What is under the pointer: the nearest one within its own size. */
export function find(places, p) {
  let best = null;
  for (const x of places || []) {
    const d = Math.hypot(x.x - p.x, x.y - p.y);
    if (d <= x.r + 5 && (!best || d < best.d)) best = { ...x, d };
  }
  return best;
}

/** `o`: cam(), move(cam), places(), hover(key or null), click(key or null, place). */
export function follow(el, o) {
  let drag = null;
  const spot = (e) => {
    const box = el.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  };
  el.addEventListener('pointerdown', (e) => {
    if (e.button || !o.cam()) return;
    drag = { from: spot(e), cam: o.cam(), moved: false };
    el.setPointerCapture(e.pointerId);
  });
  el.addEventListener('pointermove', (e) => {
    const p = spot(e);
    if (!drag) {
      const over = find(o.places(), p);
      el.classList.toggle('over', !!over);
      o.hover(over?.key || null);
      return;
    }
    const [dx, dy] = [p.x - drag.from.x, p.y - drag.from.y];
    if (Math.hypot(dx, dy) > 5) drag.moved = true;
    if (drag.moved) o.move({ ...drag.cam, x: drag.cam.x - dx / drag.cam.k, y: drag.cam.y - dy / drag.cam.k });
  });
  el.addEventListener('pointerup', (e) => {
    const was = drag;
    drag = null;
    if (!was || was.moved) return;
    const p = spot(e);
    const at = toField(o.cam(), el.clientWidth, el.clientHeight, p);
    o.click(find(o.places(), p)?.key || null, { x: Math.round(at.x), y: Math.round(at.y) });
  });
  el.addEventListener('pointercancel', () => {
    drag = null;
  });
  el.addEventListener('pointerleave', () => o.hover(null));
  const wheel = (e) => {
    // The page scrolls with the wheel; with a key held, the field zooms.
    if (!o.cam() || !(e.ctrlKey || e.metaKey || e.shiftKey)) return;
    e.preventDefault();
    const factor = (e.deltaY || e.deltaX) < 0 ? 1.12 : 1 / 1.12;
    o.move(zoom(o.cam(), el.clientWidth, el.clientHeight, spot(e), factor));
  };
  el.addEventListener('wheel', wheel, { passive: false });
}
