// Words of the API page.
export default {
  'docs.title': 'HTTP API',
  'docs.sentence': ['{n} call. Worldkeep {version}.', '{n} calls. Worldkeep {version}.'],
  'docs.home': 'Dashboard',
  'docs.subjects': 'Subjects',
  'docs.filter': 'Filter by path, method or word',
  'docs.nothing': 'No call matches.',
  'docs.command': 'Command',
  'docs.parameters': 'Parameters',
  'docs.body': 'Body',
  'docs.answers': 'Answers',
};
