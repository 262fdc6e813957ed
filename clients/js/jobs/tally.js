// Counts of outcomes: the three metrics keys and the daily hash. They are numbers, not state: a worker adds them up and
// writes them about once a second, outside of the steps.

const DAYS_KEPT_S = 90 * 86_400;

export class Tally {
  #processed = 0;
  #failed = 0;
  #handlerMs = 0;
  /** @type {Map<string, number>} by day, type and outcome */
  #days = new Map();

  /** @param {string} type @param {string} outcome @param {number} tookMs @param {number} now */
  add(type, outcome, tookMs, now) {
    if (outcome === 'completed') this.#processed += 1;
    else if (outcome === 'failed' || outcome === 'dead') this.#failed += 1;
    this.#handlerMs += tookMs;
    const field = `${Math.floor(now / 86_400_000)} ${type}:${outcome}`;
    this.#days.set(field, (this.#days.get(field) ?? 0) + 1);
  }

  /** Commands that write what was counted since the last time. @param {(name: string) => string} key */
  take(key) {
    /** @type {(string | number)[][]} */
    const commands = [];
    const totals = {
      'jobs:processed': this.#processed,
      'jobs:failed': this.#failed,
      'processing:time': this.#handlerMs,
    };
    for (const [name, by] of Object.entries(totals)) if (by > 0) commands.push(['INCRBY', key(`metrics:${name}`), by]);
    const days = new Set();
    for (const [field, by] of this.#days) {
      const [day, ...rest] = field.split(' ');
      const stats = key(`x:stats:${dayText(Number(day))}`);
      commands.push(['HINCRBY', stats, rest.join(' '), by]);
      days.add(stats);
    }
    for (const stats of days) commands.push(['EXPIRE', stats, DAYS_KEPT_S]);
    [this.#processed, this.#failed, this.#handlerMs, this.#days] = [0, 0, 0, new Map()];
    return commands;
  }
}

/** `yyyymmdd`, UTC. @param {number} day since 1970 */
const dayText = (day) => new Date(day * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
