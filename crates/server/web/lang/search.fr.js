// Ce que la recherche a trouvé.
export default {
  'search.kind.page': 'Pages',
  'search.kind.command': 'Commandes',
  'search.kind.room': 'Salons',
  'search.kind.job': 'Tâches',
  'search.kind.type': 'Types de tâches',
  'search.kind.ship': 'Vaisseaux',
  'search.kind.player': 'Joueurs',
  'search.kind.monster': 'Monstres',
  'search.kind.reactor': 'Réacteurs',
  'search.kind.key': 'Clés',
  'search.kind.pattern': 'Motifs de clés',
  'search.kind.text': 'Partout',
  'search.bounded': 'Tout n’a pas été regardé. Un identifiant entier est toujours trouvé.',
  'search.text': 'Tâches avec « {text} »',
  'search.key': 'ouvrir cette clé',
  'search.keys': ['{n} clé', '{n} clés'],
};
