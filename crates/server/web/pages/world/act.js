// Whose field, where, and how it is asked for: headers, paths, flags of the command line. Pure but for the origin.
import { NIL } from './model.js';

/** The demo's place, which the command line takes without flags. */
export const DEMO = {
  tenant: { id: 'de300000-0000-4000-8000-000000000001', region: 'DEMO', majorVersion: 1, minorVersion: 0 },
  worldId: 0,
  channelId: 0,
  mapId: 100000,
  instance: NIL,
};

/** Headers of every call about a tenant. */
export const headers = ({ tenant }) => ({
  'TENANT-ID': tenant.id,
  REGION: tenant.region || 'DEMO',
  'MAJOR-VERSION': String(tenant.majorVersion ?? 0),
  'MINOR-VERSION': String(tenant.minorVersion ?? 0),
});

/** @template {string} K @param {any} f @param {K} what
 *  @returns {`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/${K}`} */
export const pathOf = (f, what) =>
  `/api/worlds/${f.worldId}/channels/${f.channelId}/maps/${f.mapId}/instances/${f.instance}/${what}`;

const q = (text) => (/^[\w.:-]+$/.test(text) ? text : `'${String(text).replace(/'/g, "'\\''")}'`);

/** Flags that choose the tenant, only those that differ from the command line's own. */
export function tenantFlags({ tenant }) {
  const d = DEMO.tenant;
  return [
    tenant.id !== d.id && `--tenant ${q(tenant.id)}`,
    tenant.region && tenant.region !== d.region && `--region ${q(tenant.region)}`,
    tenant.majorVersion !== d.majorVersion && `--major ${tenant.majorVersion}`,
    tenant.minorVersion !== d.minorVersion && `--minor ${tenant.minorVersion}`,
  ].filter(Boolean);
}

/** The same with the field. */
export function placeFlags(f) {
  const place = [f.worldId, f.channelId, f.mapId, ...(f.instance === NIL ? [] : [f.instance])].join(':');
  return [...tenantFlags(f), place !== '0:0:100000' && `--field ${place}`].filter(Boolean);
}

export const line = (...words) => ['worldkeep', ...words].filter((x) => x !== '' && x != null).join(' ');

/** A call that can be pasted: headers included, no token. */
export const curl = (f, path) =>
  [`curl -s '${location.origin}${path}'`, ...Object.entries(headers(f)).map(([k, v]) => `-H '${k}: ${v}'`)].join(' ');

/** `WEAPON_ATTACK` as "Weapon attack". */
export const statusName = (name) => name[0] + name.slice(1).toLowerCase().replace(/_/g, ' ');
