// Claims jobs, renews their locks while they run, and finishes them: node worker.mjs LUA_DIR
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const lua = process.argv[2] ?? '.';
// ioredis sends the hash first and the text when the server does not know it.
for (const name of ['claim_job', 'process_delayed', 'release_lock']) {
  redis.defineCommand(name, { lua: readFileSync(join(lua, `${name}.lua`), 'utf8') });
}

const me = `node-${process.pid}`;
const LOCK_SECONDS = 30;
const handlers = { email: async (job) => ({ sent: job.payload.to }) };

async function register() {
  const worker = { serverId: me, stack: 'node', region: 'eu', capabilities: ['email'], lastSeen: Date.now(), pid: process.pid, hostname: hostname() };
  await redis.set(`bridge:workers:${me}`, JSON.stringify(worker));
  await redis.sadd('bridge:workers:active', me);
}
const beat = () => redis.set(`bridge:workers:heartbeat:${me}`, Date.now(), 'EX', 30);

const claim = () =>
  redis.claim_job(3, 'bridge:jobs:waiting', 'bridge:jobs:active', 'bridge:queues:paused',
    me, '["node"]', '["email"]', '["eu"]', Date.now(), LOCK_SECONDS,
    'bridge:jobs:data:', 'bridge:jobs:lock:', 'bridge:ratelimit:concurrent:');

async function run(job) {
  const id = job.jobId;
  const started = Date.now();
  const lock = `bridge:jobs:lock:${id}`;
  await redis.set(`bridge:jobs:status:${id}`, 'active');
  const renewal = setInterval(async () => {
    if ((await redis.get(lock)) === me) await redis.expire(lock, LOCK_SECONDS);
  }, (LOCK_SECONDS * 1000) / 3);
  const result = { success: true };
  try {
    result.data = await handlers[job.type](job);
  } catch (error) {
    result.success = false;
    result.error = { message: error.message, stack: error.stack, name: error.name };
  }
  clearInterval(renewal);
  result.completedAt = Date.now();
  result.processingTime = result.completedAt - started;
  if ((await redis.get(lock)) !== me) return; // too late: another worker has it
  await redis.set(`bridge:jobs:result:${id}`, JSON.stringify(result), 'EX', 86400);
  await redis.set(`bridge:jobs:status:${id}`, result.success ? 'completed' : 'dead');
  if (!result.success) await redis.lpush('bridge:jobs:deadletter', id);
  await redis.release_lock(3, lock, 'bridge:jobs:active', `bridge:ratelimit:concurrent:${job.type}`, me, id);
  console.log(id, result.success ? 'completed' : 'dead');
}

let stop = false;
process.on('SIGINT', () => (stop = true));
await register();
await beat();
const heart = setInterval(beat, 10_000);
while (!stop) {
  await redis.process_delayed(2, 'bridge:jobs:delayed', 'bridge:jobs:waiting', Date.now(), 100);
  const text = await claim();
  if (text) await run(JSON.parse(text));
  else await new Promise((resolve) => setTimeout(resolve, 250));
}
clearInterval(heart);
await redis.multi().del(`bridge:workers:${me}`, `bridge:workers:heartbeat:${me}`).srem('bridge:workers:active', me).exec();
redis.disconnect();
