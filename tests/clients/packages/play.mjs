// The common cases of all languages, played with the package for Node: node play.mjs URL   prints how many held.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Dead, Discard, Jobs, RetryAfter, Snooze, Worker } from '../../../clients/js/jobs/index.js';

const [url] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8'));
const jobs = new Jobs(url);
const ask = async (...words) => (await jobs.pipeline([words]))[0];
const key = (name) => `bridge:${name}`;
const timeless = (text) => text.replace(/"createdAt":\d+/, '"createdAt":0');

/** What the payload of a job asks its handler to do. */
async function play(job, cx) {
  const { payload } = job;
  const isDue = payload.times === undefined || cx.attempt < payload.times;
  if (payload.child) await cx.spawnChild('play', payload.child);
  for (const [percent, message] of payload.progress ?? []) await cx.progress(percent, message);
  if (payload.untilCancelled) {
    await new Promise((resolve) => cx.signal.addEventListener('abort', resolve));
    return undefined;
  }
  if (payload.snooze) {
    const slept = await cx.restored();
    if (slept) return slept;
    await cx.checkpoint({ slept: 1 });
    throw new Snooze(payload.snooze);
  }
  if (payload.discard) throw new Discard(payload.discard);
  if (payload.dead) throw new Dead(payload.dead);
  if (payload.retryAfter && isDue) throw new RetryAfter(payload.retryAfter);
  if (payload.throw && isDue) {
    const error = new Error(payload.throw[1]);
    error.name = payload.throw[0];
    throw error;
  }
  return payload.return;
}

async function until(what, holds) {
  const end = Date.now() + 20_000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, `not within 20 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function stored({ job, text, status }) {
  const [answer] = await jobs.dispatchMany([job]);
  assert.equal(answer.error, undefined);
  assert.equal(timeless(await ask('GET', key(`jobs:data:${job.jobId}`))), text);
  assert.equal(answer.status, status);
  assert.equal(await ask('GET', key(`jobs:status:${job.jobId}`)), status);
}

async function refused({ job, code, field }) {
  const [{ error }] = await jobs.dispatchMany([job]);
  assert.deepEqual([error?.code, error?.field], [code, field], error?.message);
  assert.equal(await ask('DBSIZE'), 0, 'a refusal changes nothing');
}

async function checkEnd(id, want, events) {
  const view = await jobs.get(id);
  assert.equal(view?.status, want.status, `status of ${id}`);
  assert.equal(view.job.attempts, want.attempts, `attempts of ${id}`);
  if (want.text) assert.equal(timeless(view.job.text), want.text);
  if (want.status === 'completed') assert.deepEqual(view.result?.data, want.data, `data of ${id}`);
  if (want.error) {
    const { name, message } = view.result.error;
    assert.deepEqual([name, want.error[1] === null ? null : message], want.error);
  }
  if (want.progress) assert.deepEqual([view.progress.percent, view.progress.message], want.progress);
  const told = events.filter((event) => event.id === id).map((event) => event.type);
  if (want.events) assert.deepEqual(told, want.events, `events of ${id}`);
}

async function life({ jobs: given, answers = [], cancel = [], left = 0, ends, dead = [], claimed, gone = [], when = {} }) {
  const told = await jobs.dispatchMany(given);
  assert.deepEqual(told.map((one) => one.error?.code ?? null), given.map((_, n) => answers[n] ?? null));
  const worker = new Worker(jobs, { handlers: { play }, serverId: 'w1', region: 'eu', capabilities: ['gpu'] });
  const run = worker.run();
  for (const id of cancel) {
    await until(`${id} runs`, async () => (await jobs.get(id)).status === 'active');
    await jobs.cancel(id);
  }
  for (const id of Object.keys(when)) await until(`${id} was tried`, async () => (await jobs.get(id)).job.attempts > 0);
  await until('all is done', async () => {
    const { waiting, active, delayed } = await jobs.stats();
    return waiting + active + delayed === left && (await ask('SCARD', key('x:parked'))) === 0;
  });
  await worker.stop();
  await run;
  const events = (await ask('XRANGE', key('events:stream'), '-', '+')).map(([, flat]) => ({ type: flat[1], id: flat[5] }));
  for (const [id, want] of Object.entries(ends)) await checkEnd(id, want, events);
  assert.deepEqual(await ask('LRANGE', key('jobs:deadletter'), 0, -1), dead);
  if (claimed) assert.deepEqual(events.filter((one) => one.type === 'claimed').map((one) => one.id), claimed);
  for (const name of gone) assert.equal(await ask('EXISTS', key(name)), 0, name);
  assert.equal(await ask('HLEN', key('x:claimed')), 0);
  assert.equal(Number((await ask('GET', key('ratelimit:concurrent:play'))) ?? 0), 0);
  assert.equal(await ask('SCARD', key('workers:active')), 0, 'the worker has left the registry');
}

let count = 0;
for (const [list, check] of [[cases.stored, stored], [cases.refused, refused], [cases.lives, life]]) {
  for (const one of list) {
    await ask('FLUSHALL');
    try {
      await check(one);
    } catch (error) {
      console.error(one.name ?? JSON.stringify(one.job), error);
      process.exit(1);
    }
    count += 1;
  }
}
jobs.close();
console.log(count);
