// The second step: who plays. Rename, merge, switch on and off; a problem stands on the line that causes it.
import { fill, h, icon, text } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, menu } from '../../base/overlay.js';
import { button } from '../../base/parts.js';
import { cleanName, merge, twins } from '../importer.js';
import { mark } from '../marks.js';
import { byReel } from '../rounds.js';

const SHOWN = 8;
let open = false;

export function peopleCard({ model, change, show, say }) {
  const { people } = model;
  const pairs = twins(people);
  const reels = byReel(people).size;
  const list = h('ul.peoplelist');
  const rows = people.map((p, i) => personRow({ p, i, people, twin: pairs.get(p.id), change, say }));
  const more = button({
    label: '',
    kind: 'quiet',
    title: t('people.all'),
    run: () => {
      open = true;
      drawRows();
      rows[SHOWN]?.querySelector('input')?.focus();
    },
  });
  function drawRows() {
    const cut = !open && rows.length > SHOWN + 1;
    fill(list, cut ? rows.slice(0, SHOWN) : rows);
    more.hidden = !cut;
    if (cut) fill(more, t('people.more', { n: rows.length - SHOWN }), icon('down'));
    more.classList.remove('round');
  }
  drawRows();
  return h(
    'section.card.peoplecard',
    {},
    h(
      'div.headline',
      {},
      h(
        'div',
        {},
        h(
          'h2',
          { tabindex: '-1' },
          t('people.title', { people: t('people', { n: people.length }), reels: t('reels', { n: reels }) }),
        ),
        h('p.quiet', {}, t('people.say')),
      ),
      h(
        'div.tools',
        {},
        button({ label: t('people.add'), icon: 'plus', run: () => show('import') }),
        button({ icon: 'trash', title: t('people.clear'), run: () => clear(people, change, show) }),
      ),
    ),
    list,
    more,
  );
}

/** Everything that was imported leaves this browser. */
function clear(people, change, show) {
  ask({
    title: t('people.clearAsk', { n: people.length }),
    say: t('people.clearSay'),
    verb: t('people.clear'),
    run: () => {
      change({ people: [], played: [], rounds: null });
      show('import');
    },
  });
}

function personRow({ p, i, people, twin, change, say }) {
  const face = mark({ id: `s${i + 1}`, name: p.name, off: !p.active }, 'm');
  const name = h('input.plain', {
    maxlength: '48',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': t('people.name', { name: p.name }),
  });
  name.value = p.name;
  const warn = h('span.warnline.note');
  if (twin) fill(warn, icon('warn'), t('people.twins', { a: p.name, b: twin.name }));
  else if (p.active && !p.urls.length) fill(warn, icon('info'), t('people.empty'));
  name.addEventListener('keydown', (e) => {
    if (e.key === 'Enter') name.blur();
    if (e.key === 'Escape') {
      name.value = p.name;
      name.blur();
    }
  });
  name.addEventListener('change', () => {
    const next = cleanName(name.value);
    if (!next) {
      name.value = p.name;
      fill(warn, icon('warn'), t('error.invalid_name'));
      return;
    }
    change({ people: people.map((x) => (x.id === p.id ? { ...x, name: next } : x)) });
  });
  const toggle = h(
    'button.switch',
    {
      type: 'button',
      role: 'switch',
      'aria-checked': String(p.active),
      'aria-label': t('people.plays', { name: p.name }),
      on: {
        click: () => {
          change({ people: people.map((x) => (x.id === p.id ? { ...x, active: !x.active } : x)) });
          document.querySelectorAll('.peoplelist .switch')[i]?.focus();
        },
      },
    },
    h('i'),
  );
  const others = people.filter((x) => x.id !== p.id);
  const dots = button({
    icon: 'more',
    kind: 'quiet',
    title: t('people.do', { name: p.name }),
    run: () =>
      menu(dots, [
        ...others.slice(0, 40).map((x) => ({
          label: t('people.mergeWith', { name: x.name }),
          icon: 'merge',
          run: () => change({ people: merge(people, p.id, x.id) }),
        })),
        { label: t('people.remove'), icon: 'trash', run: () => change({ people: others }) },
      ]),
  });
  const count = h('span.quiet.num');
  text(count, t('reels', { n: p.urls.length }));
  return h(
    'li',
    { class: p.active ? '' : 'offrow' },
    face,
    h('div.who', {}, name, warn),
    count,
    twin &&
      button({
        label: t('people.merge'),
        small: true,
        title: t('people.mergeThem', { a: p.name, b: twin.name }),
        run: () => {
          change({ people: merge(people, p.id, twin.id) });
          say(t('people.merged', { name: p.name }));
        },
      }),
    toggle,
    dots,
  );
}
