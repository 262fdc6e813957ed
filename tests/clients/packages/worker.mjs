// A worker that is killed: node worker.mjs URL ID SLOTS MS   Its handler notes each start, takes a moment, and has its
// effect once.
import { setTimeout as sleep } from 'node:timers/promises';
import { Jobs, Worker } from '../../../clients/js/jobs/index.js';

const [url, serverId, slots, ms] = process.argv.slice(2);
const jobs = new Jobs(url, { namespace: '{bridge}', lockTtlS: 5, maxRecoveries: 1000 });
const work = async (job) => {
  await jobs.send((redis) => redis.incr('runs'));
  await sleep(Number(ms));
  // The key by which an effect is done once: the job's id.
  await jobs.send((redis) => redis.sadd('effects', job.jobId));
  return { by: 'node' };
};
await new Worker(jobs, { serverId, concurrency: Number(slots), handlers: { work } }).runUntilSignal();
jobs.close();
