// Calls to our own server: request ids, a deadline, the CSRF token on writes, and one error shape out of the
// three dialects. A 401 raises `wk-login`; who shows the login view listens for it. Holds no token.
import { current, need } from './i18n.js';

let csrf = null;
/** Kept in memory only; comes with the session. */
export const setCsrf = (token) => {
  csrf = token || null;
};

/** What a call was refused with, or why it never arrived (`status` 0). */
export class ApiError extends Error {
  name = 'ApiError';
  field = null;
  details = null;
  /** In the dialect of rooms: which refusal of its family. */
  word = null;
  requestId = null;
  retryAfter = null;
  data = null;
  constructor(status, code, message, more = {}) {
    super(message);
    this.status = status;
    this.code = code;
    Object.assign(this, more);
  }
  /** Nothing answered, or the store behind the server did not. */
  get away() {
    return this.status === 0 || this.status === 503 || this.status === 502 || this.status === 504;
  }
}

/** Reads `{error:{…}}`, `{error:"word",message}` and JSON:API `{errors:[…]}`. */
export function readError(status, body, requestId) {
  const more = { requestId, body };
  if (body && Array.isArray(body.errors) && body.errors.length) {
    const e = body.errors[0];
    return new ApiError(status, e.code || String(status), e.detail || e.title || '', {
      ...more,
      field: e.source?.pointer || e.source?.parameter || null,
      details: e.meta || null,
    });
  }
  if (body && typeof body.error === 'string') {
    const says = body.says || body.message || body.error;
    const { error, message: word, details = null } = body;
    return new ApiError(status, error, says, { ...more, word, details });
  }
  if (body?.error) {
    const e = body.error;
    return new ApiError(status, e.code || String(status), e.message || '', {
      ...more,
      field: e.field || null,
      details: e.details || null,
      requestId: e.request_id || requestId,
    });
  }
  return new ApiError(status, String(status), `HTTP ${status}`, more);
}

/** `/api/x` with its query, empty values left out. */
export function address(path, query) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query || {})) if (v != null && v !== '') q.set(k, v);
  const tail = q.toString();
  return tail ? `${path}?${tail}` : path;
}

/** @param {Wk.Options} [o] */
async function send(method, path, o = {}) {
  const { query, body, signal, timeout = 15000, quiet = false, headers: more } = o;
  const headers = {
    Accept: 'application/json',
    'X-Request-Id': crypto.randomUUID?.() || String(Math.random()).slice(2),
    ...more,
  };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (csrf && method !== 'GET') headers['X-CSRF-Token'] = csrf;
  const deadline = AbortSignal.timeout(timeout);
  let res;
  let data = null;
  try {
    res = await fetch(address(path, query), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
    const raw = await res.text();
    if (raw)
      try {
        data = JSON.parse(raw);
      } catch {
        data = raw;
      }
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new ApiError(0, deadline.aborted ? 'timeout' : 'unreachable', e.message, {
      requestId: headers['X-Request-Id'],
    });
  }
  if (res.ok) return data;
  const err = readError(
    res.status,
    typeof data === 'object' ? data : null,
    res.headers.get('x-request-id') || headers['X-Request-Id'],
  );
  err.data = data;
  err.retryAfter = Number(res.headers.get('retry-after')) || null;
  // English has the server's own sentence; the words of other languages come with the first refusal.
  if (current() !== 'en') await need(['saiderrors']).catch(() => {});
  if (res.status === 401 && !quiet) dispatchEvent(new CustomEvent('wk-login', { detail: err }));
  throw err;
}

/** @type {Wk.Get} */
export const get = (path, opts) => send('GET', path, opts);
/** @type {Wk.Post} */
export const post = (path, body, opts) => send('POST', path, { ...opts, body: body ?? {} });
/** @type {Wk.Put} */
export const put = (path, body, opts) => send('PUT', path, { ...opts, body: body ?? {} });
/** @type {Wk.Del} */
export const del = (path, opts) => send('DELETE', path, opts);

/** A key as the last part of a path; colons stay readable. */
export const part = (key) => encodeURIComponent(key).replace(/%3A/g, ':');

/** A command that asks for exactly this, for views that have no verb of their own. Holds no token. */
export const curl = (path, query) => `curl -s '${location.origin}${address(path, query)}'`;
