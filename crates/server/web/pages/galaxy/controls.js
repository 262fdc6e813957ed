// The pilot's hands: keys, the stick on the ball, buttons held down. Gives turns as {x: pitch, y: yaw, z: roll} about the
// craft's axes, where nose up is −x, left is +y, a roll to the right is +z, and moves along them: left is +x, up +y, ahead
// +z. The stick does one or the other; letting go is told at once.

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
    this.rest();
    // What the ship was told last; it keeps that while the line is lost.
    this.last = this.lastMove = JSON.stringify(this.stick);
    this.moves = false;
  }
  /** Nothing is held on the screen. */
  rest() {
    this.stick = { x: 0, y: 0, z: 0 };
    this.push = { x: 0, y: 0, z: 0 };
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
    this.rest();
    this.tell();
  }
  /** From now on the stick moves the craft, or turns it. */
  use(moves) {
    this.moves = moves;
    this.rest();
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
    const move = this.sum(MOVES, this.push);
    if (JSON.stringify(turn) !== this.last) {
      this.last = JSON.stringify(turn);
      this.o.turn(turn);
    }
    if (JSON.stringify(move) !== this.lastMove) {
      this.lastMove = JSON.stringify(move);
      this.o.move(move);
    }
  }

  /** A finger or the pointer on the ball: how far from its middle is how hard it turns or pushes. */
  pad(el, signal) {
    let id = null;
    const at = (e) => {
      const box = el.getBoundingClientRect();
      const r = box.width / 2;
      const dead = (v) => (Math.abs(v) < 0.12 ? 0 : clamp(v * 1.2));
      const [right, down] = [dead((e.clientX - box.left - r) / r), dead((e.clientY - box.top - r) / r)];
      if (this.moves) Object.assign(this.push, { x: -right, y: -down });
      else Object.assign(this.stick, { x: down, y: -right });
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
      for (const v of [this.stick, this.push]) v.x = v.y = 0;
      this.tell();
    };
    el.addEventListener('pointerup', end, { signal });
    el.addEventListener('pointercancel', end, { signal });
  }
  /** A button that does something along z while it is held: `stick` rolls, `push` goes ahead or back. */
  hold(el, what, sign, signal) {
    const set = (v) => {
      this[what].z = v;
      this.tell();
    };
    el.addEventListener('pointerdown', () => set(sign), { signal });
    for (const type of ['pointerup', 'pointerleave', 'pointercancel', 'blur'])
      el.addEventListener(type, () => this[what].z && set(0), { signal });
  }
}
