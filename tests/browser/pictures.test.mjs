// The pictures of the README and the guides, taken from a server with its demo world. Each run takes them into
// target/screenshots; `UPDATE_PICTURES=1 node --test pictures.test.mjs` puts them into docs/pictures.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { launch, open, ROOT, Server, SHOTS, shot, until } from './kit.mjs';

const KEPT = path.join(ROOT, 'docs/pictures');

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
  await shot(page, 'overview');
  assert.deepEqual(await page.done(), []);
  await browser.close();
  await server.stop();
  if (process.env.UPDATE_PICTURES) {
    mkdirSync(KEPT, { recursive: true });
    copyFileSync(path.join(SHOTS, 'overview.png'), path.join(KEPT, 'overview.png'));
  }
  const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const named = [...readme.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map((match) => match[1]);
  assert.ok(named.length > 0, 'the README shows a picture');
  for (const one of named) assert.ok(existsSync(path.join(ROOT, one)), `${one} exists`);
});
