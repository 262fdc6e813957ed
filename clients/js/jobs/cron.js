// The check of a cron expression before it is stored. The scheduler of Worldkeep computes the times; an expression that
// it could not read is refused here, with the field that is wrong.
import { JobsError } from './errors.js';

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const MACROS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
/** @type {[string, number, number, number, string[]][]} name, low, high, largest step, names of values */
const FIELDS = [
  ['second', 0, 59, 60, []],
  ['minute', 0, 59, 60, []],
  ['hour', 0, 23, 24, []],
  ['day', 1, 31, 31, []],
  ['month', 1, 12, 12, MONTHS],
  ['weekday', 0, 7, 7, WEEKDAYS],
];
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** @param {string} message */
const refuse = (message) => new JobsError('invalid_cron', message, { field: 'schedule.cron' });

/** Refuses what the scheduler would not take. @param {string} expression @param {string | undefined} timezone */
export function checkCron(expression, timezone) {
  if (timezone !== undefined) checkTimezone(timezone);
  if (expression.length > 500) throw refuse('schedule.cron has at most 500 characters');
  const text = expression.trim();
  if (text.startsWith('@')) {
    if (MACROS.includes(text.toLowerCase())) return;
    throw refuse(`schedule.cron: there is no ${text}, use one of ${MACROS.join(' ')}`);
  }
  const words = text.split(/\s+/).filter(Boolean);
  if (words.length !== 5 && words.length !== 6) {
    throw refuse(`schedule.cron has five fields, or six with seconds, not ${words.length}`);
  }
  if (words.length === 5) words.unshift('0');
  const values = words.map((word, at) => field(word, FIELDS[at]));
  const [days, months] = [values[3], values[4]];
  const isEveryWeekday = new Set([...values[5]].map((day) => day % 7)).size === 7;
  if (isEveryWeekday && days.size > 0 && !/(^|,)L($|,)/i.test(words[3])) {
    const first = Math.min(...days);
    if ([...months].every((month) => LONGEST[month - 1] < first)) throw refuse('schedule.cron never fires');
  }
}

/** @param {string} timezone */
function checkTimezone(timezone) {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch {
    const message = `schedule.timezone: there is no ${timezone}, use an IANA name such as Europe/Paris`;
    throw new JobsError('invalid_timezone', message, { field: 'schedule.timezone' });
  }
}

/** The plain values of a field. @param {string} text @param {[string, number, number, number, string[]]} rule */
function field(text, rule) {
  const values = new Set();
  for (const item of text.split(',')) {
    if (rule[0] === 'day' && /^L$/i.test(item)) continue;
    if (rule[0] === 'weekday' && item.includes('#')) {
      const [day, nth] = item.split('#');
      value(day, rule, item);
      if (!/^[1-5]$/.test(nth)) throw wrong(rule, item, 'after # comes a number from 1 to 5');
    } else if (rule[0] === 'weekday' && /.L$/i.test(item)) {
      value(item.slice(0, -1), rule, item);
    } else {
      for (const one of range(item, rule)) values.add(one);
    }
  }
  return values;
}

/** @param {string} item @param {[string, number, number, number, string[]]} rule */
function range(item, rule) {
  const [name, low, high, stepMax] = rule;
  const [span, stepText, ...rest] = item.split('/');
  if (rest.length > 0) throw wrong(rule, item, 'use numbers, *, lists, ranges and steps');
  const step = stepText === undefined ? 1 : number(stepText, rule, item);
  if (step < 1 || step > stepMax) throw wrong(rule, item, `a step is 1 to ${stepMax}`);
  let [from, to] = [low, high];
  if (span !== '*' && span !== '?') {
    const dash = span.indexOf('-');
    from = value(dash < 0 ? span : span.slice(0, dash), rule, item);
    to = dash < 0 ? (stepText === undefined ? from : high) : value(span.slice(dash + 1), rule, item);
  }
  if (from > to) throw wrong(rule, item, `a range of the ${name} goes from low to high`);
  const values = [];
  for (let at = from; at <= to; at += step) values.push(at);
  return values;
}

/** @param {string} text @param {[string, number, number, number, string[]]} rule @param {string} item */
function value(text, rule, item) {
  const [, low, high, , names] = rule;
  const at = names.indexOf(text.toUpperCase());
  if (at >= 0) return low + at;
  const found = number(text, rule, item);
  if (found < low || found > high) throw wrong(rule, item, `it is ${low} to ${high}`);
  return found;
}

/** @param {string} text @param {[string, number, number, number, string[]]} rule @param {string} item */
function number(text, rule, item) {
  if (!/^\d{1,9}$/.test(text)) throw wrong(rule, item, 'use numbers, *, lists, ranges and steps');
  return Number(text);
}

/** @param {[string, number, number, number, string[]]} rule @param {string} item @param {string} why */
const wrong = (rule, item, why) => refuse(`schedule.cron: the ${rule[0]} field has "${item}": ${why}`);
