// Dispatches a job and waits for its result: node producer.mjs
import { Jobs } from 'worldkeep/jobs';

const jobs = new Jobs(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const id = await jobs.dispatch('email', { to: 'someone@example.org' });
console.log('dispatched', id);
console.log('completed', await jobs.wait(id));
jobs.close();
