// Producer, worker and events of Worldkeep's job queue.
export { Dead, Discard, JobError, JobsError, RetryAfter, Snooze, StoreError } from './errors.js';
export { Jobs } from './jobs.js';
export { scriptsDigest } from './script.js';
export { Worker } from './worker.js';
