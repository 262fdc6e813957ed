// The check of types, without a browser: a member that the API's document calls otherwise fails where a page reads it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { TO, types } from './apitypes.mjs';
import { ROOT } from './kit.mjs';

const given = readFileSync(path.join(ROOT, 'docs/openapi.json'), 'utf8');

/** What the check says when the document has `change` made to it. */
function checked(change) {
  const at = path.join(ROOT, 'target/tmp');
  mkdirSync(at, { recursive: true });
  const dir = mkdtempSync(path.join(at, 'types-'));
  try {
    const api = JSON.parse(given);
    change(api);
    writeFileSync(path.join(dir, 'api.d.ts'), types(api));
    writeFileSync(
      path.join(dir, 'tsconfig.json'),
      JSON.stringify({
        extends: path.join(ROOT, 'tsconfig.json'),
        include: [path.join(ROOT, 'crates/server/web'), path.join(ROOT, 'tests/browser'), 'api.d.ts'],
        exclude: [TO, path.join(ROOT, 'tests/browser/node_modules')],
      }),
    );
    const tsc = path.join(ROOT, 'tests/browser/node_modules/typescript/bin/tsc');
    return spawnSync(process.execPath, [tsc, '--project', dir], { encoding: 'utf8' }).stdout;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function rename(api, schema, name) {
  const one = api.components.schemas[schema];
  const whole = one.allOf ? one.allOf.find((part) => part.properties?.[name]) : one;
  whole.properties[`${name}New`] = whole.properties[name];
  delete whole.properties[name];
  whole.required = whole.required?.map((word) => (word === name ? `${name}New` : word));
}

test('types of the API are what its document says', () => {
  assert.equal(readFileSync(TO, 'utf8'), types(JSON.parse(given)), 'run `make pages-fix`');
});

test('another name for a member, or for a route, fails in the page that reads it', () => {
  const renamed = [
    ['Overview', 'tiles', 'base/state.js'],
    ['Me', 'csrf', 'base/state.js'],
    ['JobItem', 'runAt', 'pages/jobs/delayed.js'],
    ['Numbers', 'oldestWaitingMs', 'pages/jobs/list.js'],
    ['DoctorFinding', 'about', 'pages/jobs/doctor.js'],
    ['KeyLine', 'ttl_ms', 'pages/keydetail.js'],
    ['BulkBody', 'ids', 'pages/jobs/delayed.js'],
  ];
  const said = checked((api) => {
    for (const [schema, name] of renamed) rename(api, schema, name);
    api.paths['/api/numbers'] = api.paths['/api/stats'];
    delete api.paths['/api/stats'];
  }).split('\n');
  for (const [schema, name, file] of renamed)
    assert.ok(
      said.some((line) => line.includes(`web/${file}`) && line.includes(`'${name}'`)),
      `${schema}.${name} in ${file}`,
    );
  assert.ok(
    said.some((line) => line.includes('web/pages/jobs/frame.js')),
    'the address',
  );
});
