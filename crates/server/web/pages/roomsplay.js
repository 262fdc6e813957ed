// The playground: one big screen and four phones side by side in frames, each with a network that can be lost, a lock and
// a reload. The frames are the real pages; only their sockets are held here, from outside.
import { fill, h, icon } from '../base/dom.js';
import { t } from '../base/i18n.js';
import { button, errorBox } from '../base/parts.js';

const PHONES = 4;
const NAMES = ['Camille', 'Nico', 'Comet', 'Pixel'];

/** A small game: three rounds, one reel of two people in each. Reels are pages of this server. */
function sample() {
  const url = (n) => `${location.origin}/version?reel=${n}`;
  let n = 0;
  const item = (i, ...who) => {
    n += 1;
    return {
      item_id: `i${i}`,
      reel: { reel_id: `reel_${n}`, url: url(n) },
      true_sender_ids: who.map((w) => `s${w}`),
    };
  };
  return {
    senders: NAMES.map((name, i) => ({ sender_id: `s${i + 1}`, name, active: true, reels_count: 3 })),
    rounds: [
      { round_id: 'r1', items: [item(1, 1, 2), item(2, 3), item(3, 4)] },
      { round_id: 'r2', items: [item(1, 3, 4), item(2, 1)] },
      { round_id: 'r3', items: [item(1, 2, 3), item(2, 4), item(3, 1)] },
    ],
  };
}

/** Cuts a frame's line and gives it back. Nothing inside the frame knows of it. */
export function cut(frame) {
  const win = frame.contentWindow;
  const own = win.WebSocket;
  const send = own.prototype.send;
  own.prototype.send = () => {};
  win.WebSocket = class {
    constructor() {
      throw new Error('no network');
    }
  };
  return () => {
    own.prototype.send = send;
    win.WebSocket = own;
  };
}

function device(name, src, cls) {
  const frame = h('iframe', { name, src, title: name, allow: 'clipboard-write; screen-wake-lock; fullscreen' });
  const veil = h('div.lock', { hidden: true }, icon('lock'));
  const box = h('div.device', { class: cls }, h('div.glass', {}, frame, veil));
  return { frame, veil, box };
}

function tools(one, label) {
  let restore = null;
  const net = button({ label: t('playground.lose'), small: true, run: () => (restore ? back() : lose()) });
  const lock = button({ label: t('playground.lock'), small: true, run: () => (one.veil.hidden ? hold() : open()) });
  const word = (el, key) => {
    el.lastChild.textContent = t(key);
  };
  function lose() {
    restore ??= cut(one.frame);
    one.frame.contentWindow.dispatchEvent(new Event('offline'));
    word(net, 'playground.back');
  }
  function back() {
    restore?.();
    restore = null;
    one.frame.contentWindow.dispatchEvent(new Event('online'));
    word(net, 'playground.lose');
  }
  function hold() {
    restore ??= cut(one.frame);
    one.veil.hidden = false;
    word(lock, 'playground.unlock');
  }
  function open() {
    restore?.();
    restore = null;
    one.veil.hidden = true;
    one.frame.contentDocument.dispatchEvent(new Event('visibilitychange'));
    word(lock, 'playground.lock');
  }
  one.frame.addEventListener('load', () => {
    restore = null;
    one.veil.hidden = true;
    word(net, 'playground.lose');
    word(lock, 'playground.lock');
  });
  return h(
    'div.devicetools',
    {},
    h('b', {}, label),
    net,
    one.box.classList.contains('phone') && lock,
    button({ label: t('playground.reload'), small: true, run: () => one.frame.contentWindow.location.reload() }),
  );
}

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const style = h('link', { rel: 'stylesheet', href: '/pages/roomsplay.css' });
  document.head.append(style);
  const master = device('wk-seat-master', '/party', 'tv');
  const phones = Array.from({ length: PHONES }, (_, i) => device(`wk-seat-${i + 1}`, '/play', 'phone'));
  const fault = h('div');
  const go = button({
    label: t('playground.sample'),
    kind: 'primary',
    icon: 'play',
    run: async () => {
      fill(fault);
      try {
        const room = await ctx.api.post('/api/rooms', sample());
        master.frame.contentWindow.location.replace(`/party#take=${room.code}.${room.master_key}`);
        for (const p of phones) p.frame.contentWindow.location.replace(`/r/${room.code}`);
      } catch (e) {
        fill(fault, errorBox(e));
      }
    },
  });
  ctx.head({
    title: t('playground.title'),
    sentence: t('playground.sentence'),
    crumbs: [{ label: t('nav.rooms'), href: '/rooms' }],
    actions: go,
  });
  ctx.echo({ cli: 'worldkeep rooms ls', api: 'POST /api/rooms' });
  fill(
    root,
    fault,
    h(
      'div.playground',
      {},
      h('section', { 'aria-label': t('playground.master') }, tools(master, t('playground.master')), master.box),
      phones.map((p, i) => {
        const label = t('playground.phone', { n: i + 1 });
        return h('section.hand', { 'aria-label': label }, tools(p, label), p.box);
      }),
    ),
  );
  return { unmount: () => style.remove() };
}
