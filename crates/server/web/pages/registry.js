// Which pages exist. A module adds its page with one entry in `nav`, its routes, and its sentences for events;
// docs/dashboard.md shows how. Nothing here loads a page: `load` does, when someone goes there.
import { h } from '../base/dom.js';
import { has, rich } from '../base/i18n.js';

/** Sections of the sidebar, in order. */
export const SECTIONS = ['', 'modules', 'store'];

/** How many things to look at lead to this page. */
const looks = (path) => (overview) =>
  (overview.looks || []).filter((x) => (x.link || '').split('?')[0] === path).length;

/**
 * id, section, icon (of base/icons.svg), label and short (keys of the catalogues; short for the phone's bar), path, chord (`g` then this letter),
 * phone (place in the phone's bar), module (shown only while one of these runs), count(overview), look(overview),
 * routes: [[pattern, load]].
 */
export const nav = [
  {
    id: 'overview',
    section: '',
    icon: 'overview',
    label: 'nav.overview',
    short: 'nav.short.overview',
    path: '/',
    chord: 'o',
    phone: 0,
    routes: [['/', () => import('./overview.js')]],
  },
  {
    id: 'rooms',
    section: 'modules',
    icon: 'rooms',
    label: 'nav.rooms',
    path: '/rooms',
    chord: 'r',
    phone: 2,
    module: ['rooms'],
    count: (o) => o.tiles?.find((tile) => tile.module === 'rooms')?.number,
    look: looks('/rooms'),
    routes: [
      ['/rooms', () => import('./rooms.js')],
      ['/rooms/playground', () => import('./roomsplay.js')],
    ],
  },
  {
    id: 'keys',
    section: 'store',
    icon: 'keys',
    label: 'nav.keys',
    path: '/keys',
    chord: 'k',
    phone: 4,
    routes: [['/keys', () => import('./keys.js')]],
  },
  {
    id: 'check',
    section: 'store',
    icon: 'check',
    label: 'nav.check',
    path: '/check',
    chord: 'c',
    phone: 5,
    look: looks('/check'),
    routes: [['/check', () => import('./check.js')]],
  },
  {
    id: 'events',
    section: 'store',
    icon: 'events',
    label: 'nav.events',
    short: 'nav.short.events',
    path: '/events',
    chord: 'e',
    phone: 6,
    routes: [['/events', () => import('./events.js')]],
  },
  {
    id: 'health',
    section: 'store',
    icon: 'health',
    label: 'nav.health',
    path: '/health',
    chord: 'h',
    phone: 7,
    look: looks('/health'),
    routes: [['/health', () => import('./health.js')]],
  },
];

/** The page of a module, for tiles and links; until it has one, its part of the keyspace. */
export function pageOf(module) {
  return nav.find((n) => n.module?.includes(module))?.path || `/keys?module=${module}`;
}

/** module → (event) → nodes or text, null for the plain sentence. */
export const sentences = {
  rooms: (event) => {
    const key = `rooms.event.${event.type}`;
    if (!has(key) || !event.id) return null;
    const code = event.id.length === 8 ? `${event.id.slice(0, 4)}-${event.id.slice(4)}` : event.id;
    return rich(key, { code: h('b', {}, code), n: event.body?.votes ?? 0, m: event.body?.expected ?? 0 });
  },
};

/** The four of the phone's bar by place, the rest behind "More". */
export function phone(items) {
  const order = [...items].sort((a, b) => (a.phone ?? 99) - (b.phone ?? 99));
  return { shown: order.slice(0, 4), rest: order.slice(4) };
}
