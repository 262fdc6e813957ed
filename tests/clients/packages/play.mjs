// The common cases of all languages, played with the package for Node: node play.mjs URL   prints how many held.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
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
  if (payload.children) return (await cx.children()).map((one) => [one.jobId, one.status, one.data ?? one.error?.name]);
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

const refusalOf = (flow) => jobs.dispatchFlow(flow).then(() => ({}), (error) => ({ error }));

async function refused({ job, flow, code, field }) {
  const [{ error }] = flow ? [await refusalOf(flow)] : await jobs.dispatchMany([job]);
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

async function life({ flow, jobs: given = [], answers = [], cancel = [], left = 0, ends, dead = [], claimed, gone = [], when = {} }) {
  if (flow) assert.equal((await jobs.dispatchFlow(flow)).jobId, flow.jobId);
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

/** The verbs that no case has: wait, events that resume, pause, definitions, options that are refused. */
async function verbs() {
  const worker = new Worker(jobs, { handlers: { play } });
  const run = worker.run();
  const id = await jobs.dispatch('play', { return: 3 });
  assert.equal(await jobs.wait(id), 3);
  const bad = await jobs.dispatch('play', { discard: 'no' });
  await assert.rejects(jobs.wait(bad), { code: 'job_failed', jobId: bad });
  await assert.rejects(jobs.wait('nobody'), { code: 'no_such_job' });
  await until('the worker looks idle', async () => (await jobs.stats()).active === 0);
  const seen = [];
  for await (const event of jobs.events({ after: '0-0', types: ['claimed', 'completed'] })) {
    seen.push(event);
    if (event.type === 'completed') break;
  }
  assert.deepEqual(seen.map((event) => [event.type, event.id]), [['claimed', id], ['completed', id]]);
  const later = jobs.events({ after: seen[0].seq });
  assert.equal((await later.next()).value.seq, seen[1].seq, 'a reader goes on where it was');
  await later.return();
  assert.equal(await jobs.pause('play'), true);
  const paused = await jobs.dispatch('play', {});
  await assert.rejects(jobs.wait(paused, { timeoutMs: 50 }), { code: 'wait_timeout' });
  assert.equal(await jobs.resume('play'), true);
  assert.equal(await jobs.wait(paused), undefined);
  assert.equal(await jobs.putCron('c', 'play', {}, { cron: '@daily' }), true);
  assert.equal(await jobs.putCron('c', 'play', {}, { cron: '@hourly' }), false);
  await assert.rejects(jobs.putCron(id, 'play', {}, { cron: '@daily' }), { code: 'job_exists' });
  assert.equal(await jobs.hasSameScripts(), undefined, 'nobody leads');
  const twin = new Worker(jobs, { handlers: { play }, serverId: worker.serverId });
  twin.pid = 1;
  await assert.rejects(twin.run(), { code: 'worker_in_use', message: new RegExp(`process ${process.pid} on `) });
  await worker.stop();
  await run;
  const { pid } = spawnSync('true');
  await ask('SET', key('workers:late'), JSON.stringify({ pid, hostname: hostname() }));
  await ask('SET', key('workers:heartbeat:late'), 1, 'EX', 30);
  const heir = new Worker(jobs, { handlers: { play }, serverId: 'late' });
  const running = heir.run();
  await until('a dead predecessor is replaced at once', async () => (await ask('SISMEMBER', key('workers:active'), 'late')) === 1);
  await heir.stop();
  await running;
  assert.throws(() => new Jobs(url, { lockTtlS: 1 }), { code: 'invalid_option', field: 'lockTtlS' });
  assert.throws(() => new Worker(jobs, { handlers: {} }), { code: 'invalid_option', field: 'handlers' });
  assert.throws(() => new Worker(jobs, { handlers: { play }, serverId: 'active' }), { code: 'invalid_server_id' });
}

/** Connections are cut again and again: nothing is lost, stored twice or run twice. */
async function cuts() {
  const ran = [];
  const cut = new Jobs(url);
  const handlers = { play: async (job) => ran.push(job.jobId) };
  const worker = new Worker(cut, { handlers, concurrency: 20 });
  const run = worker.run();
  let isCutting = true;
  const cutter = (async () => {
    while (isCutting) {
      await new Promise((resolve) => setTimeout(resolve, 40));
      await ask('CLIENT', 'KILL', 'SKIPME', 'yes');
    }
  })();
  const ids = [];
  for (let lot = 0; lot < 20; lot += 1) {
    const answers = await cut.dispatchMany(Array.from({ length: 50 }, () => ({ type: 'play' })));
    ids.push(...answers.map((one) => one.jobId));
  }
  isCutting = false;
  await cutter;
  await until('all is done', async () => {
    const { waiting, active } = await jobs.stats();
    return waiting + active === 0;
  });
  assert.deepEqual(ran.toSorted(), ids.toSorted(), 'each ran once');
  await worker.stop();
  await run;
  cut.close();
}

let count = 0;
const own = [[[{ name: 'verbs' }], verbs], [[{ name: 'cuts' }], cuts]];
for (const [list, check] of [[cases.stored, stored], [cases.refused, refused], [cases.lives, life], ...own]) {
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
