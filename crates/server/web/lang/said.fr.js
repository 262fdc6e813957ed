// Phrases du serveur, en français. Mêmes clés que said.en.js, tenues par un test.
export default {
  'said.in': ' dans {ns}',
  'said.jobs.tile': [
    '{active} en cours, {rate} par seconde, {n} ouvrier',
    '{active} en cours, {rate} par seconde, {n} ouvriers',
  ],
  'said.jobs.tile.noworker': '{active} en cours, {rate} par seconde, aucun ouvrier',
  'said.jobs.noworker': [
    '{n} tâche attend{in} et aucun ouvrier n’est en vie.',
    '{n} tâches attendent{in} et aucun ouvrier n’est en vie.',
  ],
  'said.jobs.noleader': 'Aucun planificateur ne mène{in} ; cron attend.',
  'said.jobs.old': 'La tâche en tête{in} attend depuis {age_ms}.',
  'said.jobs.dead': ['Une tâche{in} est une lettre morte ({n}).', '{n} tâches{in} sont des lettres mortes.'],
  'said.jobs.cronfailed': [
    'Le dernier déclenchement de {id}{in} a échoué pour de bon.',
    'Les derniers déclenchements de {n} tâches récurrentes{in} ont échoué pour de bon.',
  ],
  'said.jobs.allpaused': 'Tous les types sont en pause{in}.',
  'said.jobs.paused': ['{types} est en pause{in}.', '{types} sont en pause{in}.'],
  'said.rooms.nobody': 'Personne n’est connecté à ce serveur.',
  'said.rooms.tile': [
    'Un écran est connecté à ce serveur.',
    '{n} écrans dans {rooms} salons sont connectés à ce serveur.',
  ],
  'said.rooms.overdue': ['{n} vote attend une clôture en retard.', '{n} votes attendent une clôture en retard.'],
  'said.monsters.none': 'aucun monstre nulle part',
  'said.monsters.tile': ['dans un terrain, minuteries : {timers}', 'dans {n} terrains, minuteries : {timers}'],
  'said.reactors.none': 'aucun réacteur nulle part',
  'said.reactors.tile': ['d’un locataire, minuteries : {timers}', 'de {n} locataires, minuteries : {timers}'],
  'said.galaxy.none': 'Il n’y a pas encore de monde : worldkeep galaxy init',
  'said.galaxy.lost': 'La base a perdu le monde.',
  'said.galaxy.ticking': 'avance à {rate} Hz, pas {tick}, {time}Z',
  'said.galaxy.paused': 'en pause à {rate} Hz, pas {tick}, {time}Z',
  'said.galaxy.look.paused': 'Le jeu est en pause.',
  'said.galaxy.look.behind': ['{n} pas est dû et pas fait.', '{n} pas sont dus et pas faits.'],
  'said.galaxy.look.energy': 'L’énergie des corps a dérivé de {drift}.',
  'said.galaxy.look.snapshots': [
    '{n} instantané n’a pas pu être gardé ; le journal dit pourquoi.',
    '{n} instantanés de suite n’ont pas pu être gardés ; le journal dit pourquoi.',
  ],
  'said.galaxy.look.late': 'Le temps du jeu a {behind_ms} de retard sur UTC.',
};
