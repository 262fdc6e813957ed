// A producer, worker and reader of the job queue, written from its document alone: no code of ours but the exported Lua.
//   node jobs.mjs PORT NAMESPACE LUA_DIR dispatch COUNT     prints the ids
//   node jobs.mjs PORT NAMESPACE LUA_DIR work COUNT         claims and finishes that many, prints their ids
//   node jobs.mjs PORT NAMESPACE LUA_DIR claim              claims one and ends without finishing it
//   node jobs.mjs PORT NAMESPACE LUA_DIR read ID...         prints status and result of each
//   node jobs.mjs PORT NAMESPACE LUA_DIR vectors            runs both vectors.json
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';

const [port, ns, lua, verb, ...rest] = process.argv.slice(2);
const redis = new Redis({ port: Number(port), host: '127.0.0.1', lazyConnect: false });
const key = (...parts) => [ns, ...parts].join(':');

async function run(name, keys, args) {
  const text = readFileSync(join(lua, `${name}.lua`), 'utf8');
  const sha = createHash('sha1').update(text).digest('hex');
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!String(error.message).startsWith('NOSCRIPT')) throw error;
    return await redis.eval(text, keys.length, ...keys, ...args);
  }
}

async function dispatch(count) {
  const ids = [];
  for (let n = 0; n < count; n++) {
    const job = {
      jobId: randomUUID(),
      type: 'double',
      payload: { n, text: 'é/"\\', list: [] },
      schedule: n % 10 === 3 ? { delay: 50 } : {},
      retry: { attempts: 3, backoff: { type: 'exponential', delay: 2000 } },
      priority: n % 7 === 0 ? 8 : 5,
      dependsOn: [],
      target: n % 5 === 0 ? { stack: ['rust', 'node', 'python'], mode: 'any' } : {},
      metadata: {},
      createdAt: Date.now(),
      attempts: 0,
    };
    const delayed = job.schedule.delay > 0;
    const multi = redis.multi().set(key('jobs', 'data', job.jobId), JSON.stringify(job));
    multi.set(key('jobs', 'status', job.jobId), delayed ? 'delayed' : 'waiting');
    if (delayed) multi.zadd(key('jobs', 'delayed'), job.createdAt + job.schedule.delay, job.jobId);
    else if (job.priority >= 7) multi.lpush(key('jobs', 'waiting'), job.jobId);
    else multi.rpush(key('jobs', 'waiting'), job.jobId);
    for (const [error] of await multi.exec()) if (error) throw error;
    ids.push(job.jobId);
  }
  console.log(ids.join('\n'));
}

const me = `node-${process.pid}`;

async function register() {
  const worker = { serverId: me, stack: 'node', region: 'us-east', capabilities: ['email'], lastSeen: Date.now(), pid: process.pid, hostname: 'client' };
  await redis.set(key('workers', me), JSON.stringify(worker));
  await redis.sadd(key('workers', 'active'), me);
  await beat();
}

const beat = () => redis.set(key('workers', 'heartbeat', me), Date.now(), 'EX', 30);

const claim = (seconds) =>
  run('claim_job', [key('jobs', 'waiting'), key('jobs', 'active'), key('queues', 'paused')],
    [me, '["node"]', '["email"]', '["us-east"]', Date.now(), seconds, key('jobs', 'data', ''), key('jobs', 'lock', ''), key('ratelimit', 'concurrent', '')]);

async function work(count) {
  await register();
  const done = [];
  // It gives up when nothing came for twenty seconds.
  let until = Date.now() + 20_000;
  let beatAt = Date.now() + 10_000;
  while (done.length < count && Date.now() < until) {
    if (Date.now() >= beatAt) {
      await beat();
      beatAt = Date.now() + 10_000;
    }
    await run('process_delayed', [key('jobs', 'delayed'), key('jobs', 'waiting')], [Date.now(), 100]);
    const text = await claim(30);
    if (!text) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    const job = JSON.parse(text);
    const started = Date.now();
    await redis.set(key('jobs', 'status', job.jobId), 'active');
    const progress = { percent: 50, message: 'half', updatedAt: Date.now() };
    await redis.set(key('jobs', 'progress', job.jobId), JSON.stringify(progress));
    const result = { success: true, data: { twice: job.payload.n * 2, by: 'node' }, completedAt: Date.now(), processingTime: Date.now() - started };
    await redis.set(key('jobs', 'result', job.jobId), JSON.stringify(result), 'EX', 86400);
    await redis.set(key('jobs', 'status', job.jobId), 'completed');
    const released = await run('release_lock', [key('jobs', 'lock', job.jobId), key('jobs', 'active'), key('ratelimit', 'concurrent', job.type)], [me, job.jobId]);
    if (released !== 1) throw new Error(`the lock of ${job.jobId} was not ours`);
    done.push(job.jobId);
    until = Date.now() + 20_000;
  }
  await redis.multi().del(key('workers', me)).del(key('workers', 'heartbeat', me)).srem(key('workers', 'active'), me).exec();
  console.log(done.join('\n'));
}

async function claimOnly() {
  await register();
  const text = await claim(1);
  console.log(JSON.parse(text).jobId);
}

async function read(ids) {
  for (const id of ids) {
    const [status, result, data] = await redis.mget(key('jobs', 'status', id), key('jobs', 'result', id), key('jobs', 'data', id));
    const job = JSON.parse(data);
    console.log(JSON.stringify({ id, status, result: JSON.parse(result), attempts: job.attempts, n: job.payload.n }));
  }
}

function pairs(flat) {
  const all = {};
  for (let at = 0; at < flat.length; at += 2) all[flat[at]] = flat[at + 1];
  return all;
}

function isReply(reply, got) {
  if (reply.error) return got instanceof Error;
  if (reply.nil) return got === null;
  if (reply.list) return Array.isArray(got) && got.length === reply.list.length && reply.list.every((one, at) => isReply(one, got[at]));
  if ('json' in reply) return isDeepStrictEqual(JSON.parse(got), reply.json);
  return got === (reply.text ?? reply.int);
}

async function state() {
  const all = {};
  for (const name of await redis.keys('*')) {
    const read = {
      string: async () => ({ string: await redis.get(name) }),
      list: async () => ({ list: await redis.lrange(name, 0, -1) }),
      set: async () => ({ set: (await redis.smembers(name)).sort() }),
      zset: async () => {
        const flat = await redis.zrange(name, 0, -1, 'WITHSCORES');
        return { zset: Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]]) };
      },
      hash: async () => ({ hash: { ...(await redis.hgetall(name)) } }),
      stream: async () => ({ stream: (await redis.xrange(name, '-', '+')).map(([, flat]) => pairs(flat)) }),
    };
    all[name] = await read[await redis.type(name)]();
    if ((await redis.ttl(name)) >= 0) all[name].ttl = true;
  }
  return all;
}

async function vectors() {
  console.log((await play('')) + (await play('own/')));
}

async function play(folder) {
  const list = JSON.parse(readFileSync(join(lua, `${folder}vectors.json`), 'utf8'));
  for (const { name, script, before, keys, args, reply, after } of list) {
    await redis.flushall();
    for (const [command, ...words] of before) await redis.call(command, ...words);
    let got;
    try {
      got = await run(folder + script, keys, args);
    } catch {
      got = new Error();
    }
    if (!isReply(reply, got)) throw new Error(`${name}: the reply is ${got}`);
    for (const value of Object.values(after)) if (value.ttl) value.ttl = true;
    const found = await state();
    if (!isDeepStrictEqual(found, after)) throw new Error(`${name}: ${JSON.stringify(found)}`);
  }
  return list.length;
}

const verbs = { dispatch: () => dispatch(Number(rest[0])), work: () => work(Number(rest[0])), claim: claimOnly, read: () => read(rest), vectors };
try {
  await verbs[verb]();
  redis.disconnect();
} catch (error) {
  console.error(error);
  process.exit(1);
}
