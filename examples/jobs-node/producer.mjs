// Dispatches a job and waits for its result: node producer.mjs
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const job = {
  jobId: randomUUID(),
  type: 'email',
  payload: { to: 'someone@example.org' },
  schedule: {},
  retry: { attempts: 3, backoff: { type: 'exponential', delay: 2000 } },
  priority: 5,
  dependsOn: [],
  target: {},
  metadata: {},
  createdAt: Date.now(),
  attempts: 0,
};
await redis
  .multi()
  .set(`bridge:jobs:data:${job.jobId}`, JSON.stringify(job))
  .set(`bridge:jobs:status:${job.jobId}`, 'waiting')
  .rpush('bridge:jobs:waiting', job.jobId)
  .publish('bridge:x:wake', job.type) // wakes idle Worldkeep workers at once; without it they look every second
  .exec();
console.log('dispatched', job.jobId);

const over = new Set(['completed', 'failed', 'dead']);
let status;
do {
  await new Promise((resolve) => setTimeout(resolve, 50));
  status = await redis.get(`bridge:jobs:status:${job.jobId}`);
} while (!over.has(status));
console.log(status, await redis.get(`bridge:jobs:result:${job.jobId}`));
redis.disconnect();
