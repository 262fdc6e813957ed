// Numbers, sizes, times and ids as the interface writes them: thin spaces, three digits, unit after a space.
import { current, t } from './i18n.js';

const THIN = '\u202f';
const dot = () => (current() === 'fr' ? ',' : '.');

/** 198 335; decimals only when given. */
export function num(value, digits) {
  if (value == null || !Number.isFinite(Number(value))) return '–';
  const n = Number(value);
  const fixed = digits === undefined ? String(Number.isInteger(n) ? n : Number(n.toPrecision(3))) : n.toFixed(digits);
  const [whole, rest] = fixed.split('.');
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, THIN).replace('-', '−');
  return rest ? spaced + dot() + rest : spaced;
}

/** Three significant digits with a unit step: 41.2 MB. */
function steps(value, units, base) {
  let n = Number(value);
  let i = 0;
  while (Math.abs(n) >= base && i < units.length - 1) {
    n /= base;
    i += 1;
  }
  const whole = i === 0 || Math.abs(n) >= 100;
  return num(whole ? Math.round(n) : Number(n.toPrecision(3))) + THIN + units[i];
}

export const bytes = (n) =>
  n == null ? '–' : steps(n, current() === 'fr' ? ['o', 'ko', 'Mo', 'Go', 'To'] : ['B', 'kB', 'MB', 'GB', 'TB'], 1000);

/** A duration in milliseconds, short: 38 µs, 0.41 ms, 212 ms, 3.4 s. */
export function ms(value) {
  if (value == null) return '–';
  if (value === 0) return `0${THIN}ms`;
  if (value < 0.1) return `${num(Math.round(value * 1000)) + THIN}µs`;
  if (value < 1000) return `${num(Number(value.toPrecision(value < 1 ? 2 : 3))) + THIN}ms`;
  return age(value, value < 10000);
}

/** "3 s", "2 m 03 s", "9 h 51 m", "6 d". */
export function age(milliseconds, fine = false) {
  if (milliseconds == null) return '–';
  const total = Math.max(0, milliseconds / 1000);
  if (total < 60) return `${(fine && total < 10 ? num(total, 1) : num(Math.floor(total))) + THIN}s`;
  const whole = Math.floor(total);
  const two = (n) => String(n).padStart(2, '0');
  const minute = t('unit.minute');
  if (whole < 3600) return `${Math.floor(whole / 60)}${THIN}${minute} ${two(whole % 60)}${THIN}s`;
  if (whole < 86400)
    return `${Math.floor(whole / 3600)}${THIN}h ${two(Math.floor((whole % 3600) / 60))}${THIN}${minute}`;
  return num(Math.floor(whole / 86400)) + THIN + t('unit.day');
}

/** Today 14:32:08, else 15 Nov 14:32, in another year 1 Jan 2000 12:00. */
export function when(at) {
  if (at == null) return '–';
  const d = new Date(Number(at));
  if (Number.isNaN(d.getTime())) return '–';
  const two = (n) => String(n).padStart(2, '0');
  if (d.toDateString() === new Date().toDateString())
    return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  const month = new Intl.DateTimeFormat(current(), { month: 'short' }).format(d);
  const year = d.getFullYear() === new Date().getFullYear() ? '' : ` ${d.getFullYear()}`;
  return `${d.getDate()} ${month}${year} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** 14:32, for axes. */
export function clock(at) {
  const d = new Date(Number(at));
  return `${String(d.getHours()).padStart(2, '0')}:${String(d.getMinutes()).padStart(2, '0')}`;
}

/** For titles: UTC and local. */
export function whenLong(at) {
  const d = new Date(Number(at));
  if (Number.isNaN(d.getTime())) return '';
  return `${d
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')} · ${d.toLocaleString(current() === 'fr' ? 'fr' : 'en-GB')}`;
}

/** First and last four of a long id; the whole goes into `title`. */
export const shortId = (id) => {
  const x = String(id ?? '');
  return x.length > 14 ? `${x.slice(0, 4)}…${x.slice(-4)}` : x;
};

/** Share of a whole as "12 %". */
export const percent = (part) => `${num(Math.round(part * 100))}${THIN}%`;
