// The pilot's hands: keys, the stick on the ball, buttons held down. Gives turns as {x: pitch, y: yaw, z: roll} about the
// craft's axes, where nose up is −x, left is +y, a roll to the right is +z; letting go is told at once.

const TURNS = {
  ArrowUp: ['x', -1],
  ArrowDown: ['x', 1],
  ArrowLeft: ['y', 1],
  ArrowRight: ['y', -1],
  a: ['y', 1],
  d: ['y', -1],
  q: ['z', -1],
  e: ['z', 1],
};
const MOVES = { i: ['y', 1], k: ['y', -1], j: ['x', 1], l: ['x', -1], u: ['z', -1], o: ['z', 1] };
const clamp = (v) => Math.max(-1, Math.min(1, v));
const typing = (el) => el?.closest?.('input:not([type=range]), textarea, select, dialog, [role=menu]');

export class Controls {
  /** `o`: turn(vector), move(vector), thrust(step or value), cut(), able(). */
  constructor(o) {
    this.o = o;
    this.held = new Set();
    this.stick = { x: 0, y: 0, z: 0 };
    this.last = '';
    this.lastMove = '';
  }

  listen(signal) {
    addEventListener('keydown', (e) => this.down(e), { signal });
    addEventListener(
      'keyup',
      (e) => {
        if (e.key === ' ' && !typing(e.target)) e.preventDefault();
        this.up(e.key);
      },
      { signal },
    );
    // Keys let go elsewhere are never told: leaving the window lets go of all.
    addEventListener('blur', () => this.release(), { signal });
    document.addEventListener('visibilitychange', () => document.hidden && this.release(), { signal });
  }
  release() {
    this.held.clear();
    this.stick = { x: 0, y: 0, z: 0 };
    this.tell();
  }

  name(key) {
    return key.length === 1 ? key.toLowerCase() : key;
  }
  down(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || typing(e.target)) return;
    const key = this.name(e.key);
    // In the seat the space bar cuts the engine, whatever has the focus: Enter presses buttons.
    if (key === ' ') {
      e.preventDefault();
      this.o.cut();
      return;
    }
    if (key === 'w' || key === 's') {
      e.preventDefault();
      this.o.thrust(key === 'w' ? 0.05 : -0.05);
      return;
    }
    if (!TURNS[key] && !MOVES[key]) return;
    // A slider keeps its arrows.
    if (e.target.closest?.('input[type=range]') && key.startsWith('Arrow')) return;
    e.preventDefault();
    if (e.repeat) return;
    this.held.add(key);
    this.tell();
  }
  up(key) {
    if (this.held.delete(this.name(key))) this.tell();
  }

  sum(map, from) {
    const v = { ...from };
    for (const key of this.held) {
      const [axis, sign] = map[key] || [];
      if (axis) v[axis] = clamp(v[axis] + sign);
    }
    return v;
  }
  tell() {
    if (!this.o.able()) return;
    const turn = this.sum(TURNS, this.stick);
    const move = this.sum(MOVES, { x: 0, y: 0, z: 0 });
    if (JSON.stringify(turn) !== this.last) {
      this.last = JSON.stringify(turn);
      this.o.turn(turn);
    }
    if (JSON.stringify(move) !== this.lastMove) {
      if (this.lastMove || Object.values(move).some(Boolean)) this.o.move(move);
      this.lastMove = JSON.stringify(move);
    }
  }

  /** A finger or the pointer on the ball: how far from its middle is how hard it turns. */
  pad(el, signal) {
    let id = null;
    const at = (e) => {
      const box = el.getBoundingClientRect();
      const r = box.width / 2;
      const dead = (v) => (Math.abs(v) < 0.12 ? 0 : clamp(v * 1.2));
      this.stick.y = -dead((e.clientX - box.left - r) / r);
      this.stick.x = dead((e.clientY - box.top - r) / r);
      this.tell();
    };
    el.addEventListener(
      'pointerdown',
      (e) => {
        if (e.button) return;
        id = e.pointerId;
        el.setPointerCapture(id);
        at(e);
      },
      { signal },
    );
    el.addEventListener('pointermove', (e) => e.pointerId === id && at(e), { signal });
    const end = (e) => {
      if (e.pointerId !== id) return;
      id = null;
      this.stick.x = this.stick.y = 0;
      this.tell();
    };
    el.addEventListener('pointerup', end, { signal });
    el.addEventListener('pointercancel', end, { signal });
  }
  /** A button that rolls while it is held. */
  hold(el, roll, signal) {
    const set = (v) => {
      this.stick.z = v;
      this.tell();
    };
    el.addEventListener('pointerdown', () => set(roll), { signal });
    for (const type of ['pointerup', 'pointerleave', 'pointercancel', 'blur'])
      el.addEventListener(type, () => this.stick.z && set(0), { signal });
  }
}
