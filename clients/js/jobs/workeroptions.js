// The options of a worker before it is made: its id, handlers and number of slots.
import { hostname } from 'node:os';
import { JobsError } from './errors.js';

/** An id for a worker that was given none: host, process, something random. */
export function defaultId() {
  const random = Math.floor(Math.random() * 0x10000).toString(16);
  return `${hostname().replaceAll(/[^A-Za-z0-9._-]/g, '-')}-${process.pid}-${random.padStart(4, '0')}`.slice(-128);
}

/** Refuses options that cannot be, naming the first. @param {any} serverId @param {any} handlers @param {any} concurrency @param {string[]} unknown */
export function checkWorker(serverId, handlers, concurrency, unknown) {
  const refuse = (/** @type {string} */ field, /** @type {string} */ why) => {
    throw new JobsError(field === 'serverId' ? 'invalid_server_id' : 'invalid_option', `${field} ${why}`, { field });
  };
  if (serverId === 'active' || serverId === 'heartbeat')
    refuse('serverId', 'must not be active or heartbeat, which are keys of the registry');
  if (typeof serverId !== 'string' || !/^[A-Za-z0-9._-]{1,128}$/.test(serverId)) {
    refuse('serverId', 'must be 1 to 128 of A-Z, a-z, 0-9, ., _ and -');
  }
  const isMap = typeof handlers === 'object' && handlers !== null && Object.keys(handlers).length > 0;
  if (!isMap || Object.values(handlers).some((one) => typeof one !== 'function')) {
    refuse('handlers', 'must be functions by the type of their jobs, one or more');
  }
  if (Object.keys(handlers).some((type) => type === '' || type.includes('\n')))
    refuse('handlers', 'has a name that is no type');
  if (!Number.isSafeInteger(concurrency) || concurrency < 1 || concurrency > 10_000) {
    refuse('concurrency', 'must be a whole number from 1 to 10000');
  }
  for (const name of unknown) refuse(name, 'is no option of a worker');
}
