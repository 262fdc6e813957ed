// One measurement of a queue that exists, or of our package for Node: `node queues.mjs bullmq|bee|worldkeep PORT TASK COUNT CONCURRENCY`. Prints one line of
// JSON: jobs per second, microseconds of the server's CPU per job, or milliseconds of pick-up.
// Tasks: `one` (dispatch one by one), `bulk` (dispatch many at once), `work` (process what is there), `pickup` (an idle
// worker gets a job), `bytes` (memory of a waiting job).
import { Queue, Worker } from 'bullmq';
import BeeQueue from 'bee-queue';
import { Redis } from 'ioredis';

const [, , which, port, task, countText, concurrencyText] = process.argv;
const count = Number(countText);
const concurrency = Number(concurrencyText || 1);
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
const probe = new Redis(connection);
const payload = { to: 'a@b.c' };

async function cpu() {
  const info = await probe.info('cpu');
  const of = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)[1]);
  return of('used_cpu_sys') + of('used_cpu_user');
}
const memory = async () => Number(/used_memory:(\d+)/.exec(await probe.info('memory'))[1]);

/** The same five verbs for all, so that the measuring is one piece of code. */
const queues = {
  bullmq() {
    const queue = new Queue('bench', { connection });
    let worker;
    return {
      ready: () => queue.waitUntilReady(),
      one: () => queue.add('noop', payload, { removeOnComplete: true }),
      many: (n) =>
        queue.addBulk(Array.from({ length: n }, () => ({ name: 'noop', data: payload, opts: { removeOnComplete: true } }))),
      async work(run) {
        worker = new Worker('bench', run, { connection, concurrency });
        await worker.waitUntilReady();
      },
      close: async () => {
        await worker?.close();
        await queue.close();
      },
    };
  },
  async worldkeep() {
    const { Jobs, Worker } = await import('../../../../clients/js/jobs/index.js');
    // Ended jobs and their results are removed, as with the others.
    const jobs = new Jobs(`redis://127.0.0.1:${port}`, { namespace: 'bench', retentionS: 0, resultTtlS: 0 });
    let worker;
    return {
      ready: () => jobs.stats(),
      one: () => jobs.dispatch('noop', payload),
      many: (n) => jobs.dispatchMany(Array.from({ length: n }, () => ({ type: 'noop', payload }))),
      work(run) {
        worker = new Worker(jobs, { handlers: { noop: run }, concurrency });
        worker.run();
      },
      close: async () => {
        await worker?.stop();
        jobs.close();
      },
    };
  },
  bee() {
    const lean = { redis: connection, isWorker: false, getEvents: false, sendEvents: false, storeJobs: false };
    const queue = new BeeQueue('bench', lean);
    let worker;
    return {
      ready: () => queue.ready(),
      one: () => queue.createJob(payload).save(),
      many: (n) => queue.saveAll(Array.from({ length: n }, () => queue.createJob(payload))),
      async work(run) {
        worker = new BeeQueue('bench', { ...lean, isWorker: true, removeOnSuccess: true });
        await worker.ready();
        worker.process(concurrency, run);
      },
      close: async () => {
        await worker?.close(500);
        await queue.close(500);
      },
    };
  },
};

async function fill(queue, n) {
  for (let left = n; left > 0; left -= 1000) await queue.many(Math.min(left, 1000));
}

async function timed(n, act) {
  const [before, cpuBefore] = [performance.now(), await cpu()];
  await act();
  const seconds = (performance.now() - before) / 1000;
  return { per_s: n / seconds, cpu_us: ((await cpu()) - cpuBefore) * 1e6 / n };
}

const tasks = {
  one: (queue) =>
    timed(count, async () => {
      for (let n = 0; n < count; n += 1) await queue.one();
    }),
  bulk: (queue) => timed(count, () => fill(queue, count)),
  async work(queue) {
    await fill(queue, count);
    let done = 0;
    let finish;
    const all = new Promise((resolve) => (finish = resolve));
    return timed(count, async () => {
      await queue.work(async () => {
        done += 1;
        if (done === count) finish();
      });
      await all;
    });
  },
  async pickup(queue) {
    let arrived;
    await queue.work(async () => arrived());
    await new Promise((r) => setTimeout(r, 300));
    const took = [];
    for (let n = 0; n < count; n += 1) {
      const before = performance.now();
      const got = new Promise((resolve) => (arrived = resolve));
      await queue.one();
      await got;
      took.push(performance.now() - before);
      await new Promise((r) => setTimeout(r, 2));
    }
    took.sort((a, b) => a - b);
    const at = (share) => took[Math.max(0, Math.ceil(took.length * share) - 1)];
    return { p50_ms: at(0.5), p99_ms: at(0.99) };
  },
  async bytes(queue) {
    const before = await memory();
    await fill(queue, count);
    return { bytes: ((await memory()) - before) / count };
  },
};

await probe.flushall();
const queue = await queues[which]();
await queue.ready();
console.log(JSON.stringify(await tasks[task](queue)));
await queue.close();
probe.disconnect();
process.exit(0);
