// Something on every page, always the same: jobs in each state, a field with a monster and a reactor, a room. For tests that
// look at all pages.
import assert from 'node:assert/strict';
import { ask } from './kit.mjs';

const TENANT = 'de300000-0000-4000-8000-000000000001';
const PLACE = '/api/worlds/0/channels/1/maps/40000/instances/00000000-0000-0000-0000-000000000000';
const HEADERS = {
  'Content-Type': 'application/json',
  'TENANT-ID': TENANT,
  REGION: 'DEMO',
  'MAJOR-VERSION': '1',
  'MINOR-VERSION': '0',
};
/** The address of the field. */
export const FIELD = `/world?tenant=${TENANT}&world=0&channel=1&map=40000`;

async function inField(server, method, at, attributes) {
  const body = attributes && JSON.stringify({ data: { attributes } });
  const answer = await fetch(server.url + at, { method, headers: HEADERS, body });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return text ? JSON.parse(text).data?.id : null;
}

/** Fills a server; gives the ids of its monster and its reactor. */
export async function seed(server) {
  await ask(server, 'POST', '/api/jobs', { jobId: 'mail', type: 'email', payload: { to: 'a@b.c' } });
  await ask(server, 'POST', '/api/jobs', {
    jobId: 'a-report-with-quite-a-long-name-of-its-own',
    type: 'reports:quarterly:with-a-long-name',
    payload: {},
    schedule: { delay: 3600000 },
  });
  for (const id of ['lost-1', 'lost-2']) {
    await ask(server, 'POST', '/api/jobs', { jobId: id, type: 'invoice', payload: { to: 'a@b.c' } });
    await ask(server, 'POST', `/api/jobs/${id}:bury`, {});
  }
  await ask(server, 'PUT', '/api/cron/digest', { type: 'email', payload: {}, schedule: { cron: '0 18 * * *' } });
  await inField(server, 'PUT', `${PLACE}/characters/4`);
  const monster = await inField(server, 'POST', `${PLACE}/monsters`, { monsterId: 9400007, x: 0, y: 0 });
  for (const x of [-300, -280, 200])
    await inField(server, 'POST', `${PLACE}/monsters`, { monsterId: 9400001, x, y: -100 });
  const reactor = await inField(server, 'POST', `${PLACE}/reactors`, { classification: 2002, x: 150, y: 0, delay: 0 });
  await inField(server, 'POST', `/api/monsters/${monster}/damage`, { characterId: 4, damages: [5000] });
  await inField(server, 'POST', `/api/reactors/${reactor}/hits`, { characterId: 4 });
  return { monster, reactor };
}

/** The address of every page of the dashboard, from its registry. */
export async function pagesOf(page) {
  const routes = await page.evaluate(async () =>
    (await import('/pages/registry.js')).nav.flatMap((item) => item.routes.map((route) => String(route[0]))),
  );
  const pages = routes.map((at) => (at === '/jobs/job' ? '/jobs/job?id=mail' : at));
  assert.ok(pages.length > 15 && !pages.some((at) => at.includes(':')), `no address for one of ${pages}`);
  return pages;
}
