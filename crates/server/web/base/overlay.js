// What floats: drawer, dialog, menu, toast. One drawer at a time, focus goes in and comes back, Esc closes.
import { add, define, fill, h, icon, uid } from './dom.js';
import { t } from './i18n.js';
import { button, field } from './parts.js';

let drawer = null;

class Drawer extends HTMLElement {}
define('wk-drawer', Drawer);

/** Opens (or refills) the drawer. The page behind stays usable.
 *  @param {Wk.DrawerOptions} o */
export function openDrawer({ title, say, content, actions, onclose }) {
  const from = drawer ? drawer.from : document.activeElement;
  closeDrawer(false);
  const id = uid('drawer');
  const el = h(
    'wk-drawer',
    { role: 'complementary', 'aria-labelledby': id },
    h(
      'header',
      {},
      h('div', {}, h('h2', { id, tabindex: '-1' }, title), say && h('p.quiet', {}, say)),
      button({ icon: 'cross', kind: 'quiet', title: t('action.close'), run: () => closeDrawer() }),
    ),
    h('div.content', { tabindex: '0' }, content),
    actions && h('footer', {}, actions),
  );
  drawer = { el, from, onclose };
  document.body.append(el);
  el.querySelector('h2').focus();
  return el;
}

/** Closes it; focus goes back where it came from. Says whether there was one. */
export function closeDrawer(told = true) {
  if (!drawer) return false;
  const { el, from, onclose } = drawer;
  drawer = null;
  el.remove();
  if (told) {
    onclose?.();
    if (from?.isConnected) from.focus();
  }
  return true;
}

/** The one dialog: title above and buttons below stay in sight, what is between scrolls. Gone when it closes.
 *  @param {{title: Wk.Child, content: Wk.Child, end?: Wk.Child, buttons?: Wk.Child, cls?: string}} o */
function dialog({ title, content, end, buttons, cls }) {
  const id = uid('dialog');
  const el = h(
    'dialog',
    { 'aria-labelledby': id, class: cls },
    h('div.cardhead', {}, h('h2', { id }, title), end && h('span.end', {}, end)),
    h('div.content', {}, content),
    buttons && h('div.buttons', {}, buttons),
  );
  el.addEventListener('close', () => el.remove());
  document.body.append(el);
  el.showModal();
  return el;
}

/** Closed by us it goes at once; closed by Esc, with its event. */
const shut = (el) => {
  el.close();
  el.remove();
};

/** A dialog for what cannot be undone; gives true when done.
 *  @param {Wk.AskOptions} o @returns {Promise<boolean>} */
export function ask({ title, say, command, verb, keep, danger = true, count = 0, run, content }) {
  return new Promise((resolve) => {
    let done = false;
    const typed =
      count > 100
        ? field({ label: t('dialog.type', { n: count }), attrs: { inputmode: 'numeric', autocomplete: 'off' } })
        : null;
    const fault = h('p.bad', { role: 'alert' });
    const act = async () => {
      if (typed && typed.value.replace(/\D/g, '') !== String(count)) {
        typed.error(t('dialog.mistyped', { n: count }));
        typed.input.focus();
        return;
      }
      try {
        await run?.();
        done = true;
        shut(el);
      } catch (e) {
        fill(fault, e.message);
        fault.scrollIntoView({ block: 'nearest' });
      }
    };
    const el = dialog({
      title,
      content: [say && h('p.quiet', {}, say), content, command && h('code.cmd', {}, command), typed, fault],
      buttons: [
        button({ label: keep || t('action.cancel'), run: () => shut(el), attrs: { autofocus: true } }),
        button({ label: verb, kind: danger ? 'danger' : 'primary', full: danger, run: act }),
      ],
    });
    el.addEventListener('close', () => resolve(done));
  });
}

/** A dialog that only shows: help, the sheet of the phone's "More".
 *  @param {Wk.SheetOptions} o */
export function sheet({ title, content, wide, cls }) {
  const el = dialog({
    title,
    content,
    cls: `${wide ? 'wide' : ''} ${cls || ''}`,
    end: button({ icon: 'cross', kind: 'quiet', title: t('action.close'), run: () => el.close() }),
  });
  el.addEventListener('click', (e) => {
    if (e.target === el || /** @type {Element} */ (e.target).closest('a[href]')) el.close();
  });
  return el;
}

/** A menu under its button: items `{label, icon, on, run}`. Arrows move, Esc closes. */
export function menu(anchor, items) {
  document.querySelector('.menu.floating')?.remove();
  const el = h('div.menu.floating', { role: 'menu', popover: 'auto' });
  for (const item of items) {
    el.append(
      h(
        'button',
        {
          type: 'button',
          role: 'menuitemradio',
          'aria-checked': item.on ? 'true' : 'false',
          'aria-selected': item.on ? 'true' : null,
          on: {
            click: () => {
              el.hidePopover();
              anchor.focus();
              item.run();
            },
          },
        },
        item.icon && icon(item.icon, { class: 's' }),
        item.mark,
        item.label,
        item.end != null && h('span.end', {}, item.end),
      ),
    );
  }
  document.body.append(el);
  anchor.setAttribute('aria-expanded', 'true');
  el.addEventListener('toggle', (e) => {
    if (e.newState === 'closed') {
      anchor.setAttribute('aria-expanded', 'false');
      el.remove();
    }
  });
  el.addEventListener('keydown', (e) => {
    const all = el.querySelectorAll('button');
    const i = [...all].indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: all.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    all[(to + all.length) % all.length].focus();
  });
  el.showPopover();
  const box = anchor.getBoundingClientRect();
  const own = el.getBoundingClientRect();
  el.style.left = `${Math.max(8, Math.min(box.left, innerWidth - own.width - 8))}px`;
  el.style.top = `${box.bottom + 6 + own.height > innerHeight ? Math.max(8, box.top - own.height - 6) : box.bottom + 6}px`;
  (el.querySelector('[aria-selected=true]') || el.querySelector('button'))?.focus();
}

/** What happened, with Undo or See. Six seconds; stays under the pointer and with focus.
 *  @param {Wk.Child} sentence @param {Wk.ToastOptions} [o] */
export function toast(sentence, { glyph = 'tick', action, run } = {}) {
  let host = document.querySelector('.toasts');
  if (!host) {
    host = h('div.toasts', { role: 'status' });
    document.body.append(host);
  }
  const el = h(
    'div.toast',
    {},
    icon(glyph),
    h('span.text', {}, sentence),
    action &&
      h(
        'button',
        {
          type: 'button',
          on: {
            click: () => {
              el.remove();
              run?.();
            },
          },
        },
        action,
      ),
  );
  let timer;
  const arm = () => {
    clearTimeout(timer);
    timer = setTimeout(() => el.remove(), 6000);
  };
  const hold = () => clearTimeout(timer);
  add(host, [el]);
  el.addEventListener('mouseenter', hold);
  el.addEventListener('focusin', hold);
  el.addEventListener('mouseleave', arm);
  el.addEventListener('focusout', arm);
  arm();
  while (host.children.length > 3) host.firstChild.remove();
  return el;
}
