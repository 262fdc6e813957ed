// Runs jobs of the types it has handlers for, until Ctrl-C: node worker.mjs
import { Jobs, RetryAfter, Worker } from 'worldkeep/jobs';

const jobs = new Jobs(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const worker = new Worker(jobs, {
  region: 'eu',
  concurrency: 8,
  handlers: {
    email: async (job, cx) => {
      await cx.progress(50, 'half');
      return { sent: job.payload.to };
    },
    // Fails once and is run again after a second.
    flaky: async (job, cx) => {
      if (cx.attempt === 0) throw new RetryAfter(1000, 'not yet');
      return { attempt: cx.attempt };
    },
  },
});
worker.on('completed', (job) => console.log(job.jobId, 'completed'));
worker.on('error', (error) => console.error(error.message));
await worker.runUntilSignal();
jobs.close();
