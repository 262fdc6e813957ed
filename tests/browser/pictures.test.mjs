// The pictures of the README and the guides, taken from a server with its demo world. Each run takes them into
// target/screenshots; `UPDATE_PICTURES=1 node --test pictures.test.mjs` puts them into docs/pictures.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { launch, open, ROOT, Server, SHOTS, shot, until } from './kit.mjs';

const KEPT = path.join(ROOT, 'docs/pictures');
/** Name of each picture, the page it shows, and what must be there before it is taken. */
const PICTURES = [
  ['overview', '/', '.tour .steps'],
  ['jobs', '/jobs', 'wk-table tbody tr'],
  ['galaxy', '/galaxy', 'canvas'],
  ['keys', '/keys?module=rooms', '.view'],
];
/** Documents that show pictures, by the folder that their addresses begin in. */
const SHOWN_IN = [
  ['', 'README.md'],
  ['docs', 'docs/dashboard.md'],
];

test('the pictures of the documents can be taken, and those that are named exist', async () => {
  const server = await Server.start({ args: ['--demo'] });
  const browser = await launch();
  const page = await open(browser, server, '/', { width: 1280, height: 720 });
  // A chart without a past says nothing: some seconds of the demo world fill it.
  await until('the demo world moves', async () => {
    const answer = await (await fetch(`${server.url}/api/overview`)).json();
    return (
      JSON.stringify(answer).includes('"galaxy"') && (await page.evaluate(() => document.body.innerText.length > 400))
    );
  });
  await page.waitForTimeout(process.env.UPDATE_PICTURES ? 45_000 : 500);
  for (const [name, at, wanted] of PICTURES) {
    await page.goto(server.url + at);
    await page.waitForSelector(wanted);
    // A picture that moves is taken when its first numbers are there.
    await page.waitForTimeout(process.env.UPDATE_PICTURES ? 4_000 : 200);
    await shot(page, name);
  }
  assert.deepEqual(await page.done(), []);
  await browser.close();
  await server.stop();
  if (process.env.UPDATE_PICTURES) {
    mkdirSync(KEPT, { recursive: true });
    for (const [name] of PICTURES) copyFileSync(path.join(SHOTS, `${name}.png`), path.join(KEPT, `${name}.png`));
  }
  for (const [folder, file] of SHOWN_IN) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    const named = [...text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map((match) => match[1]);
    assert.ok(named.length > 0, `${file} shows a picture`);
    for (const one of named) assert.ok(existsSync(path.join(ROOT, folder, one)), `${one} of ${file} exists`);
  }
});
