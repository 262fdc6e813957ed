// Parts the phone's screens share: the head with one's own mark, the screen's box, the fixed foot, score lines.
import { h, icon } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { mark, ofPlayer } from '../marks.js';
import { playerOf } from '../room-state.js';
import { points, reelWords } from '../shell.js';

/** A screen: content above, the main action fixed at the bottom within reach of the thumb. */
export function screen(cls, content, foot) {
  return h('div.screen', { class: cls }, h('div.content', {}, content), foot && h('div.foot', {}, foot));
}

/** Own mark, name and points; a pill at the right. Follows the state by `set`. */
export function head() {
  const box = h('header.me');
  return {
    el: box,
    set(state, pill, { score = true } = {}) {
      const me = playerOf(state, state.my_player_id);
      const key = JSON.stringify([me?.name, me?.avatar_url?.length, state.scores[me?.player_id], score]);
      if (this.key !== key) {
        this.key = key;
        const own = me
          ? [
              mark(ofPlayer(me), 'm'),
              h(
                'div.who',
                {},
                h('b.cut', { title: me.name }, me.name),
                score && h('span.quiet.num', {}, points(state.scores[me.player_id] || 0)),
              ),
            ]
          : [h('span.eye', {}, icon('eye')), h('div.who', {}, h('b', {}, t('play.watching')))];
        this.own?.remove();
        this.own = h('div.own', {}, own);
        box.prepend(this.own);
      }
      if (pill !== this.pill) {
        this.pill?.remove?.();
        this.pill = pill;
        if (pill) box.append(pill);
      }
    },
  };
}

/** "reel 1 of 5": the same element until the numbers change. */
export function reelPill() {
  let key = null;
  let pill = null;
  return ({ item_index: index, items_total: total }) => {
    if (key === `${index}/${total}`) return pill;
    key = `${index}/${total}`;
    pill = index == null ? null : h('span.pill.num', {}, reelWords(index, total, true));
    return pill;
  };
}

/** "Look at the big screen", and whether anyone holds it. */
export function lookUp(state) {
  return h(
    'p.lookup',
    {},
    icon(state.master_away ? 'warn' : 'screen'),
    h('span', {}, t(state.master_away ? 'play.masterAway' : 'play.look')),
  );
}
