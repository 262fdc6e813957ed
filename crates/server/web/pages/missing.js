// No page at this address.
import { fill, h } from '../base/dom.js';
import { t } from '../base/i18n.js';
import { empty } from '../base/parts.js';

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  ctx.head({ title: t('missing.title') });
  ctx.echo({});
  fill(
    root,
    h(
      'section.card',
      {},
      empty({
        glyph: 'search',
        title: t('missing.head'),
        say: t('missing.say'),
        action: h('a.btn.primary', { href: '/' }, t('missing.go')),
      }),
    ),
  );
}
