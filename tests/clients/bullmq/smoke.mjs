// BullMQ against a RESP address: `node smoke.mjs PORT`. Adds, delays, prioritises, retries, builds a flow, schedules,
// pauses, cleans and obliterates, and listens to events. Ends with one line of figures.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq';

const connection = { host: '127.0.0.1', port: Number(process.argv[2]), maxRetriesPerRequest: null };
const queue = new Queue('smoke', { connection });
const events = new QueueEvents('smoke', { connection });
const children = new Queue('children', { connection });
const flows = new FlowProducer({ connection });
await events.waitUntilReady();

let waiting = 0;
let completed = 0;
events.on('waiting', () => { waiting += 1; });
events.on('completed', () => { completed += 1; });

// Priorities decide the order while nothing works: a lower number first, no number before all.
await queue.pause();
for (const [name, priority] of [['low', 9], ['high', 1], ['middle', 5]]) await queue.add(name, {}, { priority });
await queue.add('plain', { n: 1 });
const bulk = await queue.addBulk(Array.from({ length: 20 }, (_, n) => ({ name: 'bulk', data: { n } })));
assert.equal(bulk.length, 20);
assert.deepEqual(await queue.getCountsPerPriority([0, 1, 5, 9]), { 0: 21, 1: 1, 5: 1, 9: 1 });

const order = [];
let failures = 0;
const work = async (job) => {
  order.push(job.name);
  if (job.name === 'flaky' && job.attemptsMade < 2) { failures += 1; throw new Error('not yet'); }
  if (job.name === 'parent') return Object.values(await job.getChildrenValues()).reduce((a, b) => a + b, 0);
  await job.updateProgress(50);
  await job.log('half way');
  return job.data.n ?? 0;
};
const worker = new Worker('smoke', work, { connection, concurrency: 1 });
const helper = new Worker('children', async (job) => job.data.n, { connection, concurrency: 2 });
const problems = [];
for (const one of [worker, helper, queue, events]) one.on('error', (error) => problems.push(error.message));
await worker.waitUntilReady();
assert.deepEqual(order, []);
await queue.resume();
await bulk.at(-1).waitUntilFinished(events, 20_000);
while (!order.includes('low')) await once(worker, 'completed');
assert.deepEqual(order.slice(-3), ['high', 'middle', 'low']);

const delayed = await queue.add('delayed', { n: 7 }, { delay: 300 });
const before = Date.now();
assert.equal(await delayed.getState(), 'delayed');
assert.equal(await delayed.waitUntilFinished(events, 20_000), 7);
assert.ok(Date.now() - before >= 250);

const flaky = await queue.add('flaky', { n: 3 }, { attempts: 3, backoff: { type: 'fixed', delay: 20 } });
assert.equal(await flaky.waitUntilFinished(events, 20_000), 3);
assert.equal(failures, 2);
const doomed = await queue.add('flaky', {}, { attempts: 1 });
await assert.rejects(doomed.waitUntilFinished(events, 20_000), /not yet/);
assert.equal((await queue.getFailed()).length, 1);
await doomed.retry();

const tree = await flows.add({
  name: 'parent', queueName: 'smoke',
  children: [1, 2, 3].map((n) => ({ name: 'child', queueName: 'children', data: { n } })),
});
assert.equal(await tree.job.waitUntilFinished(events, 20_000), 6);

await queue.upsertJobScheduler('beat', { every: 100 }, { name: 'beat', data: {} });
while (order.filter((name) => name === 'beat').length < 3) await once(worker, 'completed');
assert.equal((await queue.getJobSchedulers()).length, 1);
assert.ok(await queue.removeJobScheduler('beat'));

const unique = await queue.add('unique', {}, { jobId: 'one', delay: 60_000 });
assert.equal((await queue.add('unique', {}, { jobId: 'one' })).id, unique.id);
await unique.promote();
await unique.waitUntilFinished(events, 20_000);
assert.equal((await unique.getState()), 'completed');

const counts = await queue.getJobCounts();
assert.equal(counts.completed > 25, true);
const cleaned = await queue.clean(0, 1000, 'completed');
assert.ok(cleaned.length >= counts.completed);
await worker.close();
await helper.close();
await queue.pause();
await queue.add('left', {});
await queue.obliterate({ force: true });
await children.obliterate({ force: true });
assert.equal(await queue.count(), 0);
assert.deepEqual(problems, []);
await Promise.all([flows.close(), events.close(), queue.close(), children.close()]);
assert.ok(waiting > 20 && completed > 20, `${waiting} waiting, ${completed} completed`);
console.log(`PASS bullmq: ${order.length} runs, ${completed} completions heard, ${cleaned.length} cleaned`);
