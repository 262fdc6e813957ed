// Accessibility by axe-core: zero findings on every page and in every dialog that opens without more ado, light and dark,
// desktop and phone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';
import { BESIDE, loaded, open, stage } from './kit.mjs';
import { FIELD, pagesOf, seed } from './seed.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const on = stage(seed);

/** What axe finds in the page now, as sentences; all rules, or the ones named. */
async function findings(page, name, rules = null) {
  // The page's policy lets no foreign script in; the debugger may run one.
  await page.evaluate(`${AXE};undefined`);
  const found = await page.evaluate(async (only) => {
    const how = { resultTypes: ['violations'], ...(only ? { runOnly: { type: 'rule', values: only } } : {}) };
    const { violations } = await window.axe.run(document, how);
    return violations.flatMap((one) =>
      one.nodes.map(
        (node) => `${one.id}: ${node.target.join(' ')}: ${node.failureSummary.split('\n').slice(1).join(';')}`,
      ),
    );
  }, rules);
  return found.map((one) => `${name}: ${one}`);
}

const DEVICES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844, touch: true } };
for (const [device, size] of Object.entries(DEVICES))
  test(`axe finds nothing on a ${device}`, async () => {
    const page = await open(on.browser, on.server, '/', { motion: 'reduce', ...size });
    const wrong = [];
    const own = [`${FIELD}&sel=m${on.made.monster}`, `${FIELD}&sel=r${on.made.reactor}`];
    for (const at of [...(await pagesOf(page)), ...own, '/nowhere', ...BESIDE]) {
      await page.goto(on.server.url + at);
      await loaded(page);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        // The dark theme changes colours and nothing else.
        const rules = colorScheme === 'dark' ? ['color-contrast'] : null;
        wrong.push(...(await findings(page, `${at} ${colorScheme}`, rules)));
      }
    }
    assert.deepEqual([...wrong, ...(await page.done())], []);
  });

test('axe finds a fault where there is one', async () => {
  const page = await open(on.browser, on.server, '/health');
  await page.evaluate(() => document.querySelector('main').append(document.createElement('button')));
  assert.ok((await findings(page, 'health')).some((one) => one.includes('button-name')));
  await page.done();
});
