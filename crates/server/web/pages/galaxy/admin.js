// What an operator changes about the galaxy, in the drawer: the pace of time, snapshots, players and registrations.
import { fill, h } from '../../base/dom.js';
import { age, num, when } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { ask, openDrawer, toast } from '../../base/overlay.js';
import { badge, button, errorBox, field, sayError, skeleton } from '../../base/parts.js';
import { driftOf } from './timebar.js';
import { span } from './units.js';

const items = (answer) => (Array.isArray(answer) ? answer : answer?.items || answer?.data || []);
const range = (v) => {
  const n = Number(String(v).replace(',', '.'));
  return n >= 0.1 && n <= 100 ? null : t('galaxy.range', { got: String(v) });
};

/** Rate, scale and sync; each is set by itself.
 *  @param {{ctx: Wk.Context, sky: any, again: any}} o */
export function time({ ctx, sky, again }) {
  const s = () => sky.status || {};
  const fault = h('p.bad', { role: 'alert' });
  const put = async (run, said) => {
    fill(fault);
    try {
      const answer = await run();
      if (answer?.tick_rate !== undefined) sky.takeStatus(answer, performance.now() / 1000);
      await again();
      ctx.say(said);
      draw();
    } catch (e) {
      fill(fault, sayError(e));
    }
  };
  const setter = (name, label, hint, presets) => {
    const box = field({
      label,
      hint,
      value: String(s()[name] ?? 1),
      check: range,
      attrs: { inputmode: 'decimal', name },
    });
    const set = (v) => {
      box.input.value = String(v);
      if (!box.valid()) return null;
      const n = Number(String(v).replace(',', '.'));
      const send = () =>
        name === 'tick_rate'
          ? ctx.api.put('/api/admin/game/tick-rate', { tick_rate: n })
          : ctx.api.put('/api/admin/game/time-scale', { time_scale: n });
      return put(send, `${label} ${num(n)}`);
    };
    box.input.addEventListener('keydown', (e) => e.key === 'Enter' && set(box.value));
    return h(
      'section.gxset',
      {},
      box,
      h(
        'div.row',
        {},
        presets.map((p) =>
          button({ label: `${name === 'time_scale' ? '×' : ''}${num(p)}`, small: true, run: () => set(p) }),
        ),
        h('span.end', {}, button({ label: t('galaxy.set'), kind: 'primary', small: true, run: () => set(box.value) })),
      ),
    );
  };
  const sync = h('section.gxset');
  const draw = () => {
    const drift = driftOf(s());
    fill(
      sync,
      h('h3', {}, t('galaxy.sync')),
      h('p', {}, t(s().time_sync ? 'galaxy.syncon' : 'galaxy.syncoff')),
      drift &&
        h(
          'p.row',
          {},
          badge(drift.tone, drift.word),
          h('span.note', {}, drift.synced ? t('galaxy.settles', { left: span(drift.settles) }) : t('galaxy.nosync')),
        ),
      button({
        label: t(s().time_sync ? 'galaxy.syncstop' : 'galaxy.syncstart'),
        run: () => put(() => ctx.api.post('/api/admin/game/time-sync', { enabled: !s().time_sync }), t('galaxy.sync')),
      }),
    );
  };
  draw();
  openDrawer({
    title: t('galaxy.menu.time'),
    say: t('galaxy.timesay'),
    content: [
      fault,
      setter('tick_rate', t('galaxy.rate'), t('galaxy.ratehint'), [1, 2, 10, 30]),
      setter('time_scale', t('galaxy.scale'), t('galaxy.scalehint'), [1, 10, 50, 100]),
      sync,
    ],
  });
}

/** Snapshots: list, a new one, and restoring with a question that says what goes.
 *  @param {{ctx: Wk.Context, sky: any, again: any}} o */
export function snapshots({ ctx, sky, again }) {
  const body = h('div.stack', {}, skeleton(5));
  const load = async () => {
    try {
      const list = items(await ctx.api.get('/api/admin/snapshots', { query: { limit: 50 }, signal: ctx.signal }));
      fill(body, list.length ? h('ul.gxrows', {}, list.map(row)) : h('p.note', {}, t('galaxy.nosnapshots')));
    } catch (e) {
      if (!ctx.signal.aborted) fill(body, errorBox(e, load));
    }
  };
  const row = (x) => {
    const tick = x.tick_number ?? x.tick;
    const made = Date.parse(x.created_at);
    return h(
      'li',
      {},
      h(
        'span',
        {},
        h('b', {}, t('galaxy.snapshot', { id: String(x.id) })),
        h('span.note', {}, `${t('galaxy.ticks', { n: num(tick) })} · ${Number.isFinite(made) ? when(made) : '–'}`),
      ),
      h('span.end', {}, button({ label: t('galaxy.restore'), small: true, run: () => void restore(x, tick, made) })),
    );
  };
  const restore = (x, tick, made) =>
    ask({
      title: t('galaxy.restoreask', { id: String(x.id) }),
      say: t('galaxy.restoresay', {
        ships: t('galaxy.nships', { n: sky.ships.size }),
        n: num(tick),
        back: num(Math.max(0, (sky.status?.tick || 0) - tick)),
        age: Number.isFinite(made) ? age(Date.now() - made) : '–',
      }),
      command: `worldkeep galaxy snapshot restore ${x.id}`,
      verb: t('galaxy.restorego', { id: String(x.id) }),
      run: async () => {
        await ctx.api.post(`/api/admin/snapshots/${encodeURIComponent(x.id)}/restore`, {}, { timeout: 60000 });
        toast(t('galaxy.restored', { id: String(x.id) }));
        await again();
      },
    });
  openDrawer({
    title: t('galaxy.menu.snapshots'),
    say: t('galaxy.snapshotsay'),
    content: body,
    actions: button({
      label: t('galaxy.snapshotnew'),
      kind: 'primary',
      run: async () => {
        try {
          const made = await ctx.api.post('/api/admin/snapshots', {}, { timeout: 60000 });
          toast(t('galaxy.snapshotmade', { id: String(made?.id ?? '') }));
          await load();
        } catch (e) {
          fill(body, errorBox(e, load));
        }
      },
    }),
  });
  load();
}

/** Who plays, and whether new players may come.
 *  @param {{ctx: Wk.Context, sky: any, again: any}} o */
export function players({ ctx, sky, again }) {
  const body = h('div.stack', {}, skeleton(4));
  const gate = h('section.gxset');
  const drawGate = () => {
    const open = sky.status?.registration_open !== false;
    fill(
      gate,
      h(
        'p.row',
        {},
        badge(open ? 'ok' : 'locked', t(open ? 'galaxy.regopen' : 'galaxy.regclosed')),
        h('span.note', {}, t('galaxy.regsay')),
      ),
      button({
        label: t(open ? 'galaxy.regclose' : 'galaxy.regreopen'),
        run: async () => {
          try {
            await ctx.api.post(`/api/admin/registrations/${open ? 'disable' : 'enable'}`);
            sky.status.registration_open = !open;
            await again();
            drawGate();
          } catch (e) {
            gate.append(h('p.bad', { role: 'alert' }, sayError(e)));
          }
        },
      }),
    );
  };
  const load = async () => {
    try {
      const list = items(await ctx.api.get('/api/admin/players', { query: { limit: 100 }, signal: ctx.signal }));
      list.sort(
        (a, b) => Number(b.online === true) - Number(a.online === true) || String(a.username).localeCompare(b.username),
      );
      const on = list.filter((p) => p.online).length;
      fill(
        body,
        h('p.note', {}, t('galaxy.online', { n: on, all: num(list.length) })),
        h(
          'ul.gxrows',
          {},
          list.map((p) =>
            h(
              'li',
              {},
              h('span', {}, h('b', {}, p.username), p.is_admin && h('span.note', {}, t('role.admin'))),
              h('span.end', {}, badge(p.online ? 'ok' : 'idle', t(p.online ? 'galaxy.here' : 'galaxy.nothere'))),
            ),
          ),
        ),
      );
    } catch (e) {
      if (!ctx.signal.aborted) fill(body, errorBox(e, load));
    }
  };
  drawGate();
  openDrawer({ title: t('galaxy.menu.players'), say: t('galaxy.playersay'), content: [gate, body] });
  load();
}
