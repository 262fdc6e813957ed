// Which pages exist. A module adds its page with one entry in `nav` and its routes; docs/dashboard.md shows how.
// Nothing here loads a page: `load` does, when someone goes there.
import { useStyle } from '../base/dom.js';

/** Sections of the sidebar, in order. */
export const SECTIONS = ['', 'modules', 'store'];

/** How many things to look at lead to this page. */
const looks = (path) => (overview) =>
  (overview.looks || []).filter((x) => (x.link || '').split('?')[0] === path).length;

/** A page of jobs with its looks. */
const jobs = (load) => () => Promise.all([load(), useStyle('/pages/jobs/jobs.css')]).then(([page]) => page);

/**
 * id, section, icon (of base/icons.svg), label and short (keys of the catalogues; short for the phone's bar), path, chord (`g` then this letter),
 * phone (place in the phone's bar), module (shown only while one of these runs), words (catalogues of `lang/` the page
 * needs beside the base; `events` for feeds), count(overview), look(overview), routes: [[pattern, load]].
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
    words: ['events', 'health', 'overview', 'said'],
    routes: [['/', () => Promise.all([import('./overview.js'), useStyle('/pages/tour.css')]).then(([page]) => page)]],
  },
  {
    id: 'jobs',
    section: 'modules',
    icon: 'jobs',
    label: 'nav.jobs',
    short: 'nav.short.jobs',
    path: '/jobs',
    chord: 'j',
    phone: 1,
    module: ['jobs'],
    words: ['jobs', 'events'],
    count: (o) => o.tiles.find((x) => x.module === 'jobs')?.number,
    look: (o) => (o.looks || []).filter((x) => (x.link || '').startsWith('/jobs')).length,
    routes: [
      ['/jobs', jobs(() => import('./jobs/list.js'))],
      ['/jobs/types', jobs(() => import('./jobs/types.js'))],
      ['/jobs/dead', jobs(() => import('./jobs/dead.js'))],
      ['/jobs/delayed', jobs(() => import('./jobs/delayed.js'))],
      ['/jobs/cron', jobs(() => import('./jobs/cron.js'))],
      ['/jobs/workers', jobs(() => import('./jobs/workers.js'))],
      ['/jobs/doctor', jobs(() => import('./jobs/doctor.js'))],
      ['/jobs/job', jobs(() => import('./jobs/job.js'))],
    ],
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
    words: ['rooms'],
    count: (o) => o.tiles?.find((tile) => tile.module === 'rooms')?.number,
    look: looks('/rooms'),
    routes: [
      ['/rooms', () => import('./rooms.js')],
      ['/rooms/playground', () => import('./roomsplay.js')],
    ],
  },
  {
    id: 'world',
    section: 'modules',
    icon: 'world',
    label: 'nav.world',
    path: '/world',
    chord: 'w',
    phone: 3,
    module: ['monsters', 'reactors'],
    words: ['world', 'events'],
    count: (o) =>
      (o.tiles || []).filter((x) => ['monsters', 'reactors'].includes(x.module)).reduce((n, x) => n + x.number, 0),
    look: looks('/world'),
    routes: [
      [
        '/world',
        () => Promise.all([import('./world/world.js'), useStyle('/pages/world/world.css')]).then(([page]) => page),
      ],
    ],
  },
  {
    id: 'galaxy',
    section: 'modules',
    icon: 'galaxy',
    label: 'nav.galaxy',
    path: '/galaxy',
    chord: 'a',
    phone: 4,
    module: ['galaxy'],
    words: ['galaxy'],
    count: (o) => o.tiles?.find((tile) => tile.module === 'galaxy')?.number,
    look: looks('/galaxy'),
    routes: [
      [
        '/galaxy',
        () => Promise.all([import('./galaxy/galaxy.js'), useStyle('/pages/galaxy/galaxy.css')]).then(([page]) => page),
      ],
    ],
  },
  {
    id: 'keys',
    section: 'store',
    icon: 'keys',
    label: 'nav.keys',
    path: '/keys',
    chord: 'k',
    words: ['keys', 'saidkeys'],
    phone: 5,
    routes: [['/keys', () => Promise.all([import('./keys.js'), useStyle('/pages/keys.css')]).then(([page]) => page)]],
  },
  {
    id: 'check',
    section: 'store',
    icon: 'check',
    label: 'nav.check',
    path: '/check',
    chord: 'c',
    words: ['check', 'keys', 'saidcheck'],
    phone: 6,
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
    phone: 7,
    words: ['events'],
    routes: [['/events', () => import('./events.js')]],
  },
  {
    id: 'health',
    section: 'store',
    icon: 'health',
    label: 'nav.health',
    path: '/health',
    chord: 'h',
    words: ['health', 'said', 'saidhealth'],
    phone: 8,
    look: looks('/health'),
    routes: [['/health', () => import('./health.js')]],
  },
];

/** The page of a module, for tiles and links; until it has one, its part of the keyspace. */
export function pageOf(module) {
  return nav.find((n) => n.module?.includes(module))?.path || `/keys?module=${module}`;
}

/** The four of the phone's bar by place, the rest behind "More". */
export function phone(items) {
  const order = [...items].sort((a, b) => (a.phone ?? 99) - (b.phone ?? 99));
  return { shown: order.slice(0, 4), rest: order.slice(4) };
}
