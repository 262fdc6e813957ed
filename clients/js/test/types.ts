// Not run: `tsc` holds the types of the package to its code, and shows how they are used.

import type { JobContext } from '../jobs/context.js';
import type * as errors from '../jobs/errors.js';
import type * as told from '../jobs/index.d.ts';
import type { Jobs } from '../jobs/jobs.js';
import type { Worker } from '../jobs/worker.js';

type Same<Real, Told> = Real extends Told ? true : never;
type Queue =
  | 'namespace'
  | 'dispatch'
  | 'dispatchFlow'
  | 'putCron'
  | 'get'
  | 'wait'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'stats'
  | 'events'
  | 'close';
export const jobs: Same<Jobs, Pick<told.Jobs, Queue>> = true;
export const worker: Same<Worker, told.Worker> = true;
export const context: Same<JobContext, told.JobContext> = true;
export const refusal: Same<errors.JobsError, told.JobsError> = true;
export const fault: Same<errors.StoreError, told.StoreError> = true;
export const later: Same<errors.RetryAfter, told.RetryAfter> = true;

type Types = {
  email: { payload: { to: string }; result: { sent: string } };
};

export async function typed(queue: told.Jobs<Types>, Team: typeof told.Worker) {
  await queue.dispatch('email', { to: 'a@b.c' }, { delay: 1000, retry: { attempts: 5 } });
  // @ts-expect-error a payload of another shape
  await queue.dispatch('email', { from: 'a@b.c' });
  return new Team<Types>(queue, {
    concurrency: 4,
    handlers: {
      email: async (job, cx) => {
        await cx.progress(50, 'half');
        return { sent: job.payload.to };
      },
    },
  });
}
