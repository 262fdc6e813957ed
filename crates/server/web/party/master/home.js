// No room yet: start one, join one, or go on with one whose key is kept here. Also the wait for a room, and its end.
import { h, icon } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { masters, showCode } from '../kept.js';
import { parade } from '../marks.js';
import { langs } from '../shell.js';

const DEMO = ['Camille', 'Nico', 'Comet', 'Pixel', 'Marble', 'Biscuit', 'Olive'];

export function home(ctx) {
  const rooms = Object.entries(masters());
  return {
    el: h(
      'div.home',
      {},
      h(
        'header.top',
        {},
        h('div.left'),
        h(
          'div.right',
          {},
          langs(() => ctx.redraw()),
        ),
      ),
      h(
        'div.hero',
        {},
        parade(DEMO),
        h('h1', {}, t('game.name')),
        h('p.quiet.lead', {}, t('home.say')),
        h(
          'div.choices',
          {},
          button({ label: t('home.new'), kind: 'primary', icon: 'plus', run: () => ctx.go('setup') }),
          h('a.btn', { href: '/play' }, icon('phone'), t('home.join')),
        ),
        rooms.length > 0 &&
          h(
            'div.resume',
            {},
            rooms.map(([code]) =>
              button({
                label: t('home.resume', { code: showCode(code) }),
                kind: 'outline',
                icon: 'play',
                run: () => ctx.direct(code),
              }),
            ),
          ),
        h('p.quiet.fine', {}, t('home.fine')),
      ),
    ),
  };
}

export function loading(ctx) {
  const el = h(
    'div.lost',
    {},
    h('i.spin.big', { 'aria-hidden': 'true' }),
    h('h1', {}, t('loading.title')),
    h('p.quiet.num', {}, showCode(ctx.client?.code)),
  );
  const slow = setTimeout(() => {
    el.append(
      h('p', {}, t('loading.slow')),
      button({ label: t('menu.home'), kind: 'outline', run: () => ctx.go('home') }),
    );
  }, 5000);
  return { el, leave: () => clearTimeout(slow) };
}

const WHY = { closed: 'gone.closedMaster', expired: 'gone.expired', unknown: 'gone.expired', full: 'gone.full' };

export function gone(ctx) {
  const state = ctx.client.state;
  const words = state.gone
    ? state.gone.reason === 'closed_by_operator'
      ? 'gone.operator'
      : WHY[state.gone.why] || 'gone.expired'
    : 'gone.key';
  return {
    el: h(
      'div.lost',
      {},
      h(
        'div.art',
        { 'aria-hidden': 'true' },
        icon(!state.gone ? 'lock' : state.gone.why === 'closed' ? 'tick' : 'clock'),
      ),
      h('h1', {}, t(words)),
      h('p.quiet', {}, t(state.gone ? 'gone.say' : 'gone.keySay', { code: showCode(ctx.client.code) })),
      h(
        'div.choices',
        {},
        button({ label: t('home.new'), kind: 'primary', run: () => ctx.go('setup') }),
        button({ label: t('menu.home'), run: () => ctx.go('home') }),
      ),
    ),
  };
}
