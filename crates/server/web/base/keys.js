// The keyboard map. Single letters stay quiet inside fields and can be switched off; `g` starts a two-key chord.

const bindings = new Map();
const chords = new Map();
let pending = null;

const kept = () => {
  try {
    return localStorage.getItem('wk.keys') !== 'off';
  } catch {
    return true;
  }
};
export const state = { letters: kept() };

export function setLetters(on) {
  state.letters = on;
  try {
    localStorage.setItem('wk.keys', on ? 'on' : 'off');
  } catch {
    /* private window: this page only */
  }
}

/** `bind('/', 'keys.search', fn)`; gives back a function that removes it. Later bindings win while they last. */
export function bind(key, label, run) {
  const stack = bindings.get(key) || [];
  const entry = { key, label, run };
  stack.push(entry);
  bindings.set(key, stack);
  return () => {
    const i = stack.indexOf(entry);
    if (i >= 0) stack.splice(i, 1);
  };
}

export const chord = (key, label, run) => {
  chords.set(key, { key, label, run });
};

/** All keys for the `?` sheet. */
export function list() {
  const plain = [...bindings.values()].filter((s) => s.length).map((s) => s[s.length - 1]);
  return { plain, chords: [...chords.values()] };
}

const typing = (el) =>
  el &&
  (el.isContentEditable ||
    (/^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) && !/^(checkbox|radio|button)$/.test(el.type || '')));

export function start() {
  document.addEventListener('keydown', (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    if (e.key !== 'Escape' && (typing(e.target) || !state.letters || document.querySelector('dialog[open]'))) return;
    if (pending) {
      clearTimeout(pending);
      pending = null;
      const hit = chords.get(e.key);
      if (hit) {
        e.preventDefault();
        hit.run();
      }
      return;
    }
    if (e.key === 'g' && chords.size) {
      pending = setTimeout(() => {
        pending = null;
      }, 1500);
      return;
    }
    const stack = bindings.get(e.key);
    for (let i = (stack?.length || 0) - 1; i >= 0; i -= 1) {
      if (stack[i].run(e) !== false) {
        e.preventDefault();
        return;
      }
    }
  });
}
