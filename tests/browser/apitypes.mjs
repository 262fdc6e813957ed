// Types of the API's bodies and answers from docs/openapi.json, for the check of the pages' scripts.
// `node apitypes.mjs` writes crates/server/web/types/api.d.ts; `--check` fails when the file is not what it would write.
// A schema that says no more than "an object" becomes `Free`: nothing can be checked there.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const FROM = path.join(ROOT, 'docs/openapi.json');
export const TO = path.join(ROOT, 'crates/server/web/types/api.d.ts');

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const pascal = (word) => word[0].toUpperCase() + word.slice(1);
const quoted = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
const remark = (text, pad) => (text ? `${pad}/** ${text.replace(/\s+/g, ' ').replaceAll('*/', '* /')} */\n` : '');
const either = (list) => [...new Set(list)].join(' | ');

/** A schema as a type. */
function typeOf(schema, pad) {
  if (!schema || Object.keys(schema).length === 0) return 'any';
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.enum) return either(schema.enum.map((x) => JSON.stringify(x)));
  if (schema.allOf) return schema.allOf.map((x) => typeOf(x, pad)).join(' & ');
  const some = schema.oneOf || schema.anyOf;
  if (some) return either(some.map((x) => typeOf(x, pad)));
  if (Array.isArray(schema.type)) return either(schema.type.map((type) => typeOf({ ...schema, type }, pad)));
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'array':
      return schema.prefixItems
        ? `[${schema.prefixItems.map((x) => typeOf(x, pad)).join(', ')}]`
        : `Array<${typeOf(schema.items, pad)}>`;
    default:
      return members(schema, pad);
  }
}

/** An object with its members; one that names none is `Free`. */
function members(schema, pad) {
  const more = schema.additionalProperties;
  if (!schema.properties) return more && more !== true ? `Record<string, ${typeOf(more, pad)}>` : 'Free';
  const must = new Set(schema.required);
  const lines = Object.entries(schema.properties).map(
    ([name, x]) =>
      `${remark(x.description, `${pad}  `)}${pad}  ${quoted(name)}${must.has(name) ? '' : '?'}: ${typeOf(x, `${pad}  `)};`,
  );
  const own = `{\n${lines.join('\n')}\n${pad}}`;
  return more ? `${own} & Record<string, ${more === true ? 'any' : typeOf(more, pad)}>` : own;
}

/** A call's answer when it goes well; `Unsaid` where the document does not say. */
function answerOf(call) {
  const good = Object.entries(call.responses || {}).filter(([status]) => status.startsWith('2'));
  const all = good.map(([status, x]) => {
    const [kind, body] = Object.entries(x.content || {})[0] || [];
    if (!kind) return status === '204' ? 'null' : 'Unsaid';
    return kind.includes('json') ? typeOf(body.schema, '    ') : 'string';
  });
  const said = all.filter((x) => x !== 'Unsaid');
  return either(said.length ? said : ['Unsaid']);
}

const bodyOf = (call) => {
  const body = call.requestBody?.content?.['application/json'];
  return body ? typeOf(body.schema, '    ') : 'Free';
};

/** Fixed paths first, then those with more fixed text: the first that fits is the right one. */
/** @type {(a: [string, any], b: [string, any]) => number} */
const byText = ([a], [b]) => {
  const text = (x) => x.replace(/\{[^}]*\}/g, '').length;
  return Number(a.includes('{')) - Number(b.includes('{')) || text(b) - text(a) || (a < b ? -1 : 1);
};

export function types(api) {
  const schemas = Object.entries(api.components.schemas).map(
    ([name, x]) => `${remark(x.description, '  ')}  type ${name} = ${typeOf(x, '  ')};`,
  );
  const routes = Object.entries(api.paths).sort(byText);
  const lists = METHODS.flatMap((method) => {
    // A socket has no answer to type.
    const here = routes.filter(([at, calls]) => calls[method] && !at.startsWith('/ws'));
    const rows = here.map(([at, calls]) => {
      const pattern = at.includes('{') ? `\`${at.replace(/\{[^}]*\}/g, '$' + '{string}')}\`` : JSON.stringify(at);
      return `    [${pattern}, ${bodyOf(calls[method])}, ${answerOf(calls[method])}],`;
    });
    return [`  type ${pascal(method)} = [\n${rows.join('\n')}\n  ];`];
  });
  return `// Made from docs/openapi.json by tests/browser/apitypes.mjs: \`make pages-fix\` writes it anew. Not served.

declare namespace Api {
  /** An object of which the document says no more. */
  type Free = Record<string, any>;
  /** An answer of which the document says nothing. */
  type Unsaid = any;

${schemas.join('\n\n')}

  // Per method: path, body of the request, answer. The first path that fits counts.
${lists.join('\n')}
}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = types(JSON.parse(readFileSync(FROM, 'utf8')));
  if (!process.argv.includes('--check')) writeFileSync(TO, text);
  else if (readFileSync(TO, 'utf8') !== text) {
    console.error(`${path.relative(ROOT, TO)} is not what docs/openapi.json says: run \`make pages-fix\``);
    process.exit(1);
  }
}
