// Rules and maneuvers as sentences: "When fuel < 10 %, alert".
import { h } from '../../base/dom.js';
import { num, percent } from '../../base/format.js';
import { has, t } from '../../base/i18n.js';
import { badge } from '../../base/parts.js';
import { dist, speed } from './units.js';

const read = (x, json) => {
  if (x && typeof x === 'object') return x;
  try {
    return JSON.parse(json || x || 'null');
  } catch {
    return null;
  }
};
const DISTANCES = ['ship.agl', 'ship.distance_to', 'orbit.apoapsis', 'orbit.periapsis'];
const SPEEDS = ['ship.speed', 'ship.surface_speed'];

function value(field, v) {
  if (typeof v !== 'number') return String(v);
  if (field === 'ship.fuel' || field === 'ship.thrust') return percent(v);
  if (field === 'ship.fuel_pct') return `${num(v)}\u202f%`;
  if (DISTANCES.includes(field)) return dist(v);
  return SPEEDS.includes(field) ? speed(v) : num(v);
}

function condition(c) {
  if (c.field === 'immediate') return t('galaxy.rule.at_once');
  const key = `galaxy.rule.${c.field}`;
  const what = has(key) ? t(key, { to: (c.args || []).join(', ') }) : c.field;
  return `${what} ${c.op} ${value(c.field, c.value)}`;
}
function action(a) {
  const key = `galaxy.act.${a.action}`;
  return has(key)
    ? t(key, { n: percent(a.value ?? 0), mode: a.mode || a.direction || '', to: a.target_id || '' })
    : a.action;
}

/** One rule in words. */
export function sayRule(r) {
  const trigger = read(r.trigger, r.trigger_json) || {};
  const acts = read(r.actions, r.actions_json) || [];
  const joint = t(trigger.logic === 'OR' ? 'galaxy.rule.or' : 'galaxy.rule.and');
  const when = (trigger.conditions || []).map(condition).join(` ${joint} `);
  return t('galaxy.rule.say', { when, acts: acts.map(action).join(', ') });
}

/** A maneuver with its phase and how far it is. */
export function sayManeuver(m) {
  const key = `galaxy.man.${m.type}`;
  const status = { active: 'active', done: 'completed', failed: 'failed', cancelled: 'idle' }[m.status] || 'info';
  const dv = Number(m.delta_v);
  const done = Number(m.delta_v_done) || 0;
  return [
    h(
      'div.row',
      {},
      h('b', {}, has(key) ? t(key) : m.type),
      h('span.end', {}, badge(status, t(`galaxy.manstate.${status}`))),
    ),
    h('p.note', {}, [m.phase, m.target_id, m.error].filter(Boolean).join(' · ')),
    dv > 0 && h('span.bar', {}, h('i', { vars: { '--f': Math.min(1, done / dv), '--tone': 'var(--accent)' } })),
  ];
}
