// The API as a page: /openapi.json, by subject, each call with its parameters, bodies, answers and a command to copy.
// A call has an address, `/docs#get-/api/jobs`; what is typed into the filter narrows the list.
import { fill, h, loadIcons } from '../base/dom.js';
import * as i18n from '../base/i18n.js';
import { copyButton, empty, errorBox, field } from '../base/parts.js';

const { t } = i18n;
/** Shapes inside shapes are opened so far; deeper ones are only named. */
const DEEP = 4;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** All calls of a document, in its order: `{method, path, id, tag, op}`.
 *  @param {any} doc */
export function callsOf(doc) {
  return Object.entries(doc.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      method,
      path,
      id: `${method}-${path}`,
      tag: item[method].tags?.[0] || 'server',
      op: { ...item[method], parameters: [...(item.parameters || []), ...(item[method].parameters || [])] },
    })),
  );
}

/** The shape that a reference names, and its name. */
function resolve(doc, schema) {
  const name = schema?.$ref?.split('/').pop();
  return name ? { name, schema: doc.components.schemas[name] || {} } : { name: '', schema: schema || {} };
}

/** A type in a few words: `string | null`, `Job[]`, `"a" | "b"`. */
export function kindOf(doc, given) {
  const { name, schema } = resolve(doc, given);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (name) return name;
  const many = schema.oneOf || schema.anyOf || schema.allOf;
  if (many) return many.map((one) => kindOf(doc, one)).join(schema.allOf ? ' & ' : ' | ');
  const types = [schema.type ?? 'any'].flat();
  return types.map((type) => (type === 'array' ? `${kindOf(doc, schema.items)}[]` : type)).join(' | ');
}

/** The members of an object as a list, opened to a depth. A shape inside itself is only named. */
function shape(doc, given, above = []) {
  const { name, schema } = resolve(doc, given);
  if (above.includes(name) && name) return null;
  const known = name ? [...above, name] : above;
  const inner = schema.items || schema.oneOf?.find((one) => one.type !== 'null') || schema.allOf?.[0];
  if (!schema.properties) return inner ? shape(doc, inner, known) : null;
  const required = new Set(schema.required || []);
  return h(
    'ul.shape',
    {},
    Object.entries(schema.properties).map(([member, one]) =>
      h(
        'li',
        {},
        h('b', {}, member),
        required.has(member) ? '' : '?',
        ': ',
        h('span.kind', {}, kindOf(doc, one)),
        about(doc, one),
        known.length < DEEP ? shape(doc, one, known) : null,
      ),
    ),
  );
}

/** A sentence whose words between backticks are code. */
const said = (sentence) => (sentence || '').split('`').map((part, i) => (i % 2 ? h('code', {}, part) : part));

function about(doc, given) {
  const own = given.description || given.oneOf?.map((one) => one.description).find(Boolean);
  const says = own || resolve(doc, given).schema.description;
  return says ? h('span.says', {}, ' ', said(says)) : null;
}

const jsonOf = (part) => part?.content?.['application/json']?.schema || Object.values(part?.content || {})[0]?.schema;

/** A command that makes the call against this server. */
export function curlOf({ method, path, op }, origin) {
  const query = op.parameters.filter((one) => one.in === 'query' && one.required).map((one) => `${one.name}=…`);
  const url = `${origin}${path}${query.length ? `?${query.join('&')}` : ''}`;
  const verb = method === 'get' ? '' : ` -X ${method.toUpperCase()}`;
  const body = op.requestBody ? ` -H 'content-type: application/json' -d '{…}'` : '';
  return `curl${verb}${body} '${url}'`;
}

function inside(doc, call) {
  const { op } = call;
  const body = jsonOf(op.requestBody);
  const command = curlOf(call, location.origin);
  return h(
    'div.inside',
    {},
    h('h3', {}, t('docs.command'), ' ', copyButton(command, t('docs.command'))),
    h('pre', {}, command),
    op.parameters.length
      ? [
          h('h3', {}, t('docs.parameters')),
          h(
            'dl',
            {},
            op.parameters.map((one) => [
              h('dt', {}, one.name, one.required ? '' : '?'),
              h('dd', {}, h('span.kind', {}, `${one.in}, ${kindOf(doc, one.schema)} `), said(one.description)),
            ]),
          ),
        ]
      : null,
    body ? [h('h3', {}, t('docs.body'), ' ', h('span.kind', {}, kindOf(doc, body))), shape(doc, body)] : null,
    h('h3', {}, t('docs.answers')),
    h(
      'dl',
      {},
      Object.entries(op.responses).map(([status, answer]) => {
        const given = jsonOf(answer);
        return [
          h('dt', {}, status),
          h(
            'dd',
            {},
            given ? h('span.kind', {}, kindOf(doc, given)) : '',
            ' ',
            said(answer.description),
            given && shape(doc, given),
          ),
        ];
      }),
    ),
  );
}

/** One call, filled when it is opened first. */
function entry(doc, call) {
  const el = h(
    'details.call',
    { id: call.id },
    h(
      'summary',
      {},
      h('span.method', { class: call.method }, call.method.toUpperCase()),
      h('span.path', {}, call.path),
      h('span.says', {}, said(call.op.summary)),
    ),
  );
  el.addEventListener('toggle', () => {
    if (!el.open) return;
    if (el.children.length === 1) el.append(inside(doc, call));
    history.replaceState(null, '', `#${call.id}`);
  });
  return el;
}

function subjects(doc, calls) {
  const about = Object.fromEntries((doc.tags || []).map((tag) => [tag.name, tag.description]));
  return [...new Set(calls.map((call) => call.tag))].map((name) => ({
    name,
    says: said(about[name]),
    calls: calls.filter((call) => call.tag === name),
  }));
}

function draw(root, doc) {
  const calls = callsOf(doc);
  const list = h('main', { id: 'main' });
  const nav = h('nav', { 'aria-label': t('docs.subjects') });
  const filter = field({ label: t('docs.filter'), type: 'search' });
  const show = () => {
    const wanted = filter.value.trim().toLowerCase();
    const found = calls.filter((call) =>
      `${call.method} ${call.path} ${call.op.summary}`.toLowerCase().includes(wanted),
    );
    const groups = subjects(doc, found);
    fill(
      nav,
      groups.map(({ name, calls: some }) => h('a', { href: `#${name}` }, name, h('span', {}, some.length))),
    );
    fill(
      list,
      found.length ? null : empty({ glyph: 'search', title: t('docs.nothing') }),
      groups.map((group) => [
        h('h2', { id: group.name }, group.name),
        h('p.says', {}, group.says),
        group.calls.map((call) => entry(doc, call)),
      ]),
    );
  };
  filter.addEventListener('input', show);
  show();
  fill(
    root,
    h(
      'div.api',
      {},
      h(
        'header',
        {},
        h('h1', {}, t('docs.title')),
        h('p.says', {}, t('docs.sentence', { n: calls.length, version: doc.info.version })),
        h('p', {}, h('a', { href: '/' }, t('docs.home')), ' · ', h('a', { href: '/openapi.json' }, 'openapi.json')),
        filter,
      ),
      nav,
      list,
    ),
  );
  const asked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (asked instanceof HTMLDetailsElement) asked.open = true;
  asked?.scrollIntoView();
}

async function start(root) {
  await Promise.all([loadIcons(), i18n.use(i18n.preferred()).then(() => i18n.need(['docs']))]);
  document.title = `${t('docs.title')} · Worldkeep`;
  try {
    const answer = await fetch('/openapi.json');
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    draw(root, await answer.json());
  } catch (why) {
    fill(
      root,
      errorBox(why, () => start(root)),
    );
  }
}

start(document.getElementById('app'));
