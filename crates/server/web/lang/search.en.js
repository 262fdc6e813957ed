// What the search field found.
export default {
  'search.kind.page': 'Pages',
  'search.kind.command': 'Commands',
  'search.kind.room': 'Rooms',
  'search.kind.job': 'Jobs',
  'search.kind.type': 'Types of jobs',
  'search.kind.ship': 'Ships',
  'search.kind.player': 'Players',
  'search.kind.monster': 'Monsters',
  'search.kind.reactor': 'Reactors',
  'search.kind.key': 'Keys',
  'search.kind.pattern': 'Patterns of keys',
  'search.kind.text': 'Everywhere',
  'search.bounded': 'Not everything was looked at. A whole id is always found.',
  'search.text': 'Jobs with “{text}”',
  'search.key': 'open this key',
  'search.keys': ['{n} key', '{n} keys'],
};
