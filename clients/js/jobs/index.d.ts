// Types of `worldkeep/jobs`. `clients/js/test/types.ts` holds them to the code.
import type { EventEmitter } from 'node:events';
import type { Cluster, Redis, RedisOptions } from 'ioredis';

/** Payload and result by type of job, for `Jobs<Types>` and `Worker<Types>`. */
export type JobTypes = Record<string, { payload?: unknown; result?: unknown }>;

export interface Schedule {
  /** Milliseconds from dispatch. */
  delay?: number;
  /** Unix milliseconds. */
  runAt?: number;
  /** Five fields, or six with seconds; a scheduler of Worldkeep fires it. */
  cron?: string;
  /** IANA name; UTC when absent. */
  timezone?: string;
}

export interface Backoff {
  type?: 'fixed' | 'linear' | 'exponential';
  /** Milliseconds before the first retry; 2000 when absent. */
  delay?: number;
  maxDelay?: number;
  /** Spread by up to a quarter. */
  jitter?: boolean;
}

export interface Retry {
  /** Retries, not executions: 3 means up to four runs. */
  attempts?: number;
  backoff?: Backoff;
  /** Names of errors after which the job is dead at once. */
  skipOn?: string[];
  /** Names of errors after which another worker must try. */
  rerouteOn?: string[];
}

export interface Target {
  server?: string;
  stack?: string[];
  capabilities?: string[];
  region?: string[];
  mode?: 'any' | 'all';
}

/** Fields of a job beside its type and payload, as in `POST /api/jobs`; members of `schedule` may also stand here. */
export interface JobOptions extends Schedule {
  /** 1 to 128 of `A-Z a-z 0-9 . _ ~ - :`; a UUID when absent. */
  jobId?: string;
  schedule?: Schedule;
  retry?: Retry;
  /** 1 to 10, 5 when absent; 7 and more go to the front. */
  priority?: number;
  /** Jobs that must complete first. */
  dependsOn?: string[];
  target?: Target;
  metadata?: Record<string, unknown>;
  rateLimit?: { maxConcurrent?: number; maxPerMinute?: number };
  unique?: { key: string; windowMs?: number; onConflict?: 'reject' | 'replace' | 'queue_next' };
  /** Runs once, `waitMs` after the last dispatch with this key: each one replaces the one before and waits anew. */
  debounce?: { key: string; waitMs: number };
  /** At most one job with this key in a window: the first runs, the others are refused, also after its end. */
  throttle?: { key: string; windowMs: number };
  x?: {
    /** Groups, such as customers, take turns, and may have limits of their own. */
    group?: string;
    /** Jobs of one sequence run one after the other, in the order of their dispatch. */
    sequence?: string;
    /** Of a cron definition: whether a firing queues up while the one before is not over. */
    overlap?: 'skip' | 'queue';
    timeoutMs?: number;
    expiresAt?: number;
    traceparent?: string;
    batch?: string;
    exclude?: string[];
    limiter?: 'sliding';
    /** After a dependency, or a child of a flow, failed: the job fails (usual), waits until that one is retried or removed, or goes on. */
    onDependencyFailed?: 'fail' | 'wait' | 'ignore';
  };
}

export interface NewJob extends JobOptions {
  type: string;
  payload?: unknown;
}

/** A job and those that must end before it: up to 500 jobs, 16 deep. */
export interface Flow extends NewJob {
  children?: Flow[];
}

/** How a job ended that another one waited for. */
export interface Child {
  jobId: string;
  /** `completed`, `failed` or `dead`; `gone` when it was removed. */
  status: string;
  /** What its handler returned. */
  data?: any;
  /** Why it failed. */
  error?: { name: string; message: string };
}

export type Status = 'waiting' | 'active' | 'completed' | 'failed' | 'delayed' | 'cron' | 'dead';

/** A job as it is stored. */
export interface Job<Payload = unknown> {
  readonly jobId: string;
  readonly type: string;
  readonly payload: Payload;
  readonly metadata: Record<string, unknown>;
  readonly schedule: Schedule;
  readonly retry: Retry;
  readonly priority: number;
  readonly dependsOn: string[];
  readonly target: Target;
  readonly createdAt: number;
  /** Retries that were scheduled so far. */
  readonly attempts: number;
  readonly x: Record<string, unknown>;
  /** The stored text. */
  readonly text: string;
}

export interface JobResult {
  success: boolean;
  data?: unknown;
  error?: { message: string; stack?: string; name: string };
  completedAt: number;
  processingTime: number;
}

export interface JobView {
  jobId: string;
  /** Nothing when the data is gone or cannot be read. */
  job: Job | null;
  status: string | null;
  progress?: { percent: number; message?: string; data?: unknown; updatedAt: number };
  result?: JobResult;
  /** The worker that holds it. */
  worker: string | null;
}

export interface JobEvent {
  module: 'jobs';
  scope: string;
  /** Its place in the stream: `after` of a reader that resumes. */
  seq: string;
  at: number;
  /** `dispatched`, `claimed`, `completed`, `retried`, `failed`, `dead`, `cancelled` and others. */
  type: string;
  /** The job; a type or worker where no job is meant. */
  id: string;
  body: Record<string, any>;
}

/** Events before `from` were trimmed before they were read. */
export interface EventGap {
  type: 'gap';
  module: 'jobs';
  scope: string;
  from: string;
  id?: undefined;
  seq?: undefined;
}

/** Options of a queue. Those of a namespace must be the same in every program, and are the server's defaults. */
export interface JobsOptions {
  /** `bridge` when absent. */
  namespace?: string;
  /** `tagged` writes the namespace as a hash tag, for a Cluster. */
  layout?: 'plain' | 'tagged';
  payloadMax?: number;
  resultMax?: number;
  /** Seconds for which an ended job stays; 0 deletes it at once, -1 keeps it. */
  retentionS?: number;
  resultTtlS?: number;
  /** Seconds a lock lasts unless it is renewed; 5 or more. */
  lockTtlS?: number;
  /** Dispatch is refused when so many jobs wait; 0 switches it off. */
  maxWaiting?: number;
  promoteHonoursPriority?: boolean;
  fairHigh?: boolean;
  scanLimit?: number;
  events?: boolean;
  maxRecoveries?: number;
  /** What tells of a firing of cron that failed for good: a dead letter of its own, or an alarm on its definition. */
  cronFailed?: 'letter' | 'alarm';
  /** Milliseconds that a call to the store may take. */
  timeoutMs?: number;
}

export type Answer =
  | { jobId: string; status: Status; error?: undefined }
  | { jobId?: undefined; status?: undefined; error: JobsError };

export class Jobs<Types extends JobTypes = JobTypes> extends EventEmitter {
  /** An address (`REDIS_URL` or this machine when absent), options of ioredis, or a connection, which is copied. */
  constructor(redis?: string | RedisOptions | Redis | Cluster, options?: JobsOptions);
  readonly namespace: string;
  dispatch<Type extends keyof Types & string>(
    type: Type,
    payload?: Types[Type]['payload'],
    options?: JobOptions,
  ): Promise<string>;
  dispatchMany(jobs: NewJob[]): Promise<Answer[]>;
  /** Stores a flow, all of it or nothing; a parent runs when its children have ended. */
  dispatchFlow(flow: Flow): Promise<{ jobId: string; jobs: { jobId: string; status: string }[] }>;
  putCron(jobId: string, type: string, payload: unknown, options: JobOptions): Promise<boolean>;
  get(jobId: string): Promise<JobView | null>;
  wait<Result = unknown>(jobId: string, options?: { timeoutMs?: number }): Promise<Result>;
  cancel(
    ...ids: string[]
  ): Promise<{ jobId: string; answer: 'done' | 'asked' | 'refused' | 'missing'; status: string }[]>;
  pause(type: string, options?: { forMs?: number }): Promise<boolean>;
  resume(type: string): Promise<boolean>;
  stats(): Promise<{ waiting: number; active: number; delayed: number; cron: number; dead: number }>;
  events(options?: {
    after?: string;
    types?: string[];
    signal?: AbortSignal;
  }): AsyncGenerator<JobEvent | EventGap, void, void>;
  /** Whether the scheduler that leads has the scripts of this package; nothing when none leads. */
  hasSameScripts(): Promise<boolean | undefined>;
  /** Unix milliseconds, the store's. */
  now(): number;
  close(): void;
}

export interface JobContext {
  readonly jobId: string;
  /** Retries before this attempt: 0 the first time. With `jobId` it is the key by which an effect is done once. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Unix ms by which the attempt must end, when the job has a limit. */
  readonly deadline: number | undefined;
  /** Aborts when the handler should end. */
  readonly signal: AbortSignal;
  /** Why the handler should end. */
  readonly cancelled: 'asked' | 'lease_lost' | 'stopping' | undefined;
  progress(percent: number, message?: string): Promise<void>;
  checkpoint(data: unknown): Promise<void>;
  restored(): Promise<unknown>;
  extendLock(): Promise<boolean>;
  /** How the jobs ended that this one waited for, in the order of `dependsOn`. */
  children(): Promise<Child[]>;
  spawnChild(type: string, payload?: unknown, options?: JobOptions): Promise<string>;
}

export type Handler<Payload = any, Result = unknown> = (job: Job<Payload>, cx: JobContext) => Result | Promise<Result>;

export interface WorkerOptions<Types extends JobTypes = JobTypes> {
  /** Only jobs of these types are claimed. */
  handlers: { [Type in keyof Types]?: Handler<Types[Type]['payload'], Types[Type]['result'] | undefined> };
  /** Jobs at once; 1 when absent. */
  concurrency?: number;
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`; made when absent. */
  serverId?: string;
  stack?: string;
  region?: string;
  capabilities?: string[];
  /** Milliseconds that running jobs have when the worker stops; 25 000 when absent. */
  graceMs?: number;
}

export class Worker<Types extends JobTypes = JobTypes> extends EventEmitter {
  constructor(jobs: Jobs<any>, options: WorkerOptions<Types>);
  readonly serverId: string;
  readonly counts: {
    completed: number;
    failed: number;
    retried: number;
    dead: number;
    leaseLost: number;
    faults: number;
  };
  /** Ends when the worker was stopped and everything is written or handed back. */
  run(): Promise<void>;
  /** The same until SIGTERM or SIGINT; a second signal hands everything back at once. */
  runUntilSignal(): Promise<void>;
  quiet(): void;
  stop(): Promise<void>;
}

/** The queue says no, and nothing was changed. */
export class JobsError extends Error {
  constructor(code: string, message: string, more?: { field?: string; jobId?: string; cause?: unknown });
  readonly code: string;
  readonly field?: string;
  readonly jobId?: string;
}

/** The store failed. With `unknown` the call may have happened. */
export class StoreError extends Error {
  constructor(outcome: 'unknown' | 'not_sent' | 'refused', message: string, cause?: unknown);
  readonly code: string;
  readonly outcome: 'unknown' | 'not_sent' | 'refused';
}

/** Thrown by a handler; `name` is what `skipOn` and `rerouteOn` compare. */
export class JobError extends Error {
  constructor(message: string, name?: string);
}
/** Again after `ms`, while the job has attempts left. */
export class RetryAfter extends JobError {
  constructor(ms: number, message?: string, name?: string);
  readonly ms: number;
}
/** Again after `ms`; this uses no attempt. */
export class Snooze extends JobError {
  constructor(ms: number);
  readonly ms: number;
}
/** Never again; the job ends as `failed`. */
export class Discard extends JobError {}
/** To the dead letters at once. */
export class Dead extends JobError {}

/** The digest of all scripts in the package. */
export const scriptsDigest: string;
