// Figures of the sky in the reader's way: metres to astronomical units, speeds, spans of time, dates, masses.
import { num } from '../../base/format.js';
import { current, t } from '../../base/i18n.js';
import { AU } from './space.js';

const THIN = '\u202f';
const three = (n) => {
  const size = Math.abs(n);
  return num(size >= 100 || size === 0 ? Math.round(n) : Number(n.toPrecision(3)));
};
const join = ([value, unit]) => value + THIN + unit;

/** Distance as [figure, unit].
 *  @returns {[string, string]} */
export function reach(m) {
  const size = Math.abs(m);
  if (!Number.isFinite(m)) return ['–', ''];
  if (size < 1) return [num(m, 2), 'm'];
  if (size < 10000) return [size < 100 ? num(m, 1) : num(Math.round(m)), 'm'];
  if (size < 1e9) return [size < 1e6 ? three(m / 1e3) : num(Number((m / 1e3).toPrecision(4))), 'km'];
  if (size < 0.05 * AU) return [three(m / 1e9), t('galaxy.unit.mkm')];
  return [three(m / AU), t('galaxy.unit.au')];
}
export const dist = (m) => join(reach(m));

/** Speed as [figure, unit].
 *  @returns {[string, string]} */
export function pace(v) {
  if (!Number.isFinite(v)) return ['–', ''];
  const size = Math.abs(v);
  if (size < 1000) return [size < 100 ? num(v, 1) : num(Math.round(v)), 'm/s'];
  return [num(v / 1000, size < 99950 ? 2 : 0), 'km/s'];
}
export const speed = (v) => join(pace(v));
export const signed = (v) => (v > 0.05 ? '+' : '') + speed(v);

/** A span in seconds, in two steps at most: 42 s, 21 min, 92.6 min, 3.4 h, 562 d, 11.9 years. */
export function span(s) {
  if (!Number.isFinite(s)) return '–';
  if (s < 60) return `${num(Math.round(s)) + THIN}s`;
  if (s < 3 * 3600) return `${(s < 6000 ? num(Number((s / 60).toPrecision(3))) : num(Math.round(s / 60))) + THIN}min`;
  if (s < 2 * 86400) return `${three(s / 3600) + THIN}h`;
  if (s < 1000 * 86400) return three(s / 86400) + THIN + t('unit.day');
  return t('galaxy.unit.years', { n: Number((s / 31557600).toPrecision(3)) });
}

const two = (n) => String(n).padStart(2, '0');
/** A game time (seconds) as date and clock, UTC. */
export const day = (s) => {
  const d = new Date(s * 1000);
  return Number.isNaN(d.getTime()) ? '–' : `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}`;
};
export const hour = (s) => {
  const d = new Date(s * 1000);
  return Number.isNaN(d.getTime()) ? '–' : [d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()].map(two).join(':');
};
export function longDay(s) {
  const d = new Date(s * 1000);
  if (Number.isNaN(d.getTime())) return '–';
  return new Intl.DateTimeFormat(current() === 'fr' ? 'fr' : 'en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(d);
}

/** Seconds of a stored time; fractions kept. */
export function seconds(iso) {
  const m = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?/.exec(iso || '');
  if (!m) return NaN;
  return Date.parse(`${m[1]}Z`) / 1000 + Number(m[2] || 0);
}

export const kg = (n) => `${num(Math.round(n)) + THIN}kg`;
/** A mass in powers of ten: 5.97 × 10²⁴ kg. */
export function mass(n) {
  const ten = Math.floor(Math.log10(n));
  const up = String(ten).replace(/\d/g, (d) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[d]);
  return `${num(n / 10 ** ten, 2)} × 10${up}${THIN}kg`;
}
export const angle = (rad) => `${num((rad * 180) / Math.PI, 1)}°`;

/** Longest 1-2-5 × 10ⁿ of a unit within `most` pixels: metres, its name, and the same in a second unit. */
export function scaleBar(perPixel, least = 80, most = 160) {
  const top = perPixel * most;
  const steps = top >= 0.05 * AU ? AU : top >= 1e9 ? 1e9 : top >= 1000 ? 1000 : 1;
  const unit = { [AU]: t('galaxy.unit.au'), 1e9: t('galaxy.unit.mkm'), 1000: 'km', 1: 'm' }[steps];
  const n = round125(top / steps);
  const metres = n * steps;
  const other = steps === AU ? num(Number((metres / 1e9).toPrecision(2))) + THIN + t('galaxy.unit.mkm') : null;
  return { metres, px: Math.max(least / 2, metres / perPixel), name: num(n) + THIN + unit, other };
}

/** The largest 1, 2 or 5 × 10ⁿ that is not above `x`. */
export function round125(x) {
  const ten = 10 ** Math.floor(Math.log10(x));
  const k = x / ten;
  return Number(((k >= 5 ? 5 : k >= 2 ? 2 : 1) * ten).toPrecision(1));
}
