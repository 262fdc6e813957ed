// The first step of a new game: conversation exports as files, or lines `name, url`. What could not be read is said next
// to the place it came from.
import { fill, h, icon, uid } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { addPeople, readExport, readLines } from '../importer.js';

const LARGEST = 64 * 1024 * 1024;

/** Reads files one by one; gives the people and a line per file. */
async function readFiles(files, people) {
  const notes = [];
  let list = people;
  for (const file of files) {
    try {
      if (file.size > LARGEST) throw Object.assign(new Error('size'), { word: 'size' });
      const found = readExport(await file.text());
      const reels = [...found.people.values()].reduce((n, set) => n + set.size, 0);
      list = addPeople(list, found.people);
      notes.push({
        file: file.name,
        ok: reels > 0,
        words: reels ? t('import.read', { n: reels, who: found.people.size }) : t('import.nothing'),
      });
    } catch (e) {
      notes.push({ file: file.name, ok: false, words: t(`import.bad.${e.word || 'json'}`) });
    }
  }
  return { list, notes };
}

export function importView({ model, change, show, say }) {
  const id = uid('lines');
  const notes = h('ul.filenotes', { 'aria-live': 'polite' });
  const files = h('input.said', {
    type: 'file',
    multiple: true,
    accept: '.json,application/json',
    tabindex: '-1',
    'aria-label': t('import.files'),
    on: { change: (e) => take([...e.target.files], e.target) },
  });
  const area = h('textarea.input', {
    id,
    rows: '7',
    spellcheck: 'false',
    placeholder: t('import.example'),
    'aria-describedby': `${id}-bad`,
  });
  const bad = h('ul.fault.lines', { id: `${id}-bad`, role: 'alert' });
  const good = h('p.good.taken');
  const go = button({
    label: t('import.next'),
    kind: 'primary',
    run: () => show('people'),
  });
  go.hidden = !model.people.length;

  async function take(list, input) {
    if (input) input.value = '';
    if (!list.length) return;
    const read = await readFiles(list, model.people);
    model = { ...model, people: read.list };
    change({ people: read.list }, { keepFocus: true });
    fill(
      notes,
      read.notes.map((n) =>
        h(
          'li',
          { class: n.ok ? 'good' : 'wrong' },
          icon(n.ok ? 'tick' : 'warn'),
          h('b.cut', {}, n.file),
          h('span', {}, n.words),
        ),
      ),
    );
    say(read.notes.map((n) => `${n.file}: ${n.words}`).join('. '));
    go.hidden = !read.list.length;
    if (read.list.length && read.notes.every((n) => n.ok)) show('people');
  }

  const paste = () => {
    const read = readLines(area.value);
    fill(
      bad,
      read.faults
        .slice(0, 8)
        .map((f) => h('li', {}, t(`import.line.${f.word}`, { n: f.line, text: f.text.slice(0, 40) }))),
      read.faults.length > 8 && h('li', {}, t('import.line.more', { n: read.faults.length - 8 })),
    );
    const reels = new Set([...read.people.values()].flatMap((urls) => [...urls])).size;
    const taken = reels
      ? t('import.taken', { reels: t('reels', { n: reels }), people: t('people', { n: read.people.size }) })
      : '';
    fill(good, taken && [icon('tick'), h('span', {}, taken)]);
    if (taken) say(taken);
    if (!read.people.size) {
      if (!read.faults.length) fill(bad, h('li', {}, t('import.line.empty')));
      area.focus();
      return;
    }
    const people = addPeople(model.people, read.people);
    model = { ...model, people };
    change({ people }, { keepFocus: true });
    // Lines that were read leave the field; the others stay to be mended.
    const wrong = new Set(read.faults.map((f) => f.line));
    area.value = area.value
      .split(/\r?\n/)
      .filter((_, i) => wrong.has(i + 1))
      .join('\n');
    go.hidden = false;
    if (!read.faults.length) show('people');
  };

  const drop = h(
    'section.card.drop',
    {
      on: {
        dragover: (e) => {
          e.preventDefault();
          drop.classList.add('over');
        },
        dragleave: () => drop.classList.remove('over'),
        drop: (e) => {
          e.preventDefault();
          drop.classList.remove('over');
          take([...e.dataTransfer.files]);
        },
      },
    },
    h('div.art', { 'aria-hidden': 'true' }, icon('folder')),
    h('h2', { tabindex: '-1' }, t('import.title')),
    h('p.quiet', {}, t('import.say')),
    button({
      label: t('import.files'),
      kind: model.people.length ? 'plain' : 'primary',
      icon: 'plus',
      run: () => files.click(),
    }),
    files,
    notes,
    h('details.how', {}, h('summary', {}, t('import.how')), h('p.quiet', {}, t('import.howSay'))),
  );
  return h(
    'div.importview',
    {},
    h(
      'div.columns',
      {},
      drop,
      h(
        'section.card.paste',
        {},
        h('h2', {}, t('import.paste')),
        h('label.quiet', { for: id }, t('import.pasteSay')),
        area,
        good,
        bad,
        button({ label: t('import.add'), run: paste }),
      ),
    ),
    h('footer.bottom', {}, h('div.say'), h('div.actions', {}, go)),
  );
}
