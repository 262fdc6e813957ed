// Words of the API page, in French. Same keys as docs.en.js.
export default {
  'docs.title': 'API HTTP',
  'docs.sentence': ['{n} appel. Worldkeep {version}.', '{n} appels. Worldkeep {version}.'],
  'docs.home': 'Tableau de bord',
  'docs.subjects': 'Sujets',
  'docs.filter': 'Filtrer par chemin, méthode ou mot',
  'docs.nothing': 'Aucun appel ne correspond.',
  'docs.command': 'Commande',
  'docs.parameters': 'Paramètres',
  'docs.body': 'Corps',
  'docs.answers': 'Réponses',
};
