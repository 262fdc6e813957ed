// L’entrée par jeton.
export default {
  'login.title': 'Connexion',
  'login.say': 'Ce serveur demande un jeton.',
  'login.ended': 'Votre session est terminée. Reconnectez-vous.',
  'login.token': 'Jeton',
  'login.hint': 'Il commence par wk_ et n’est envoyé qu’une fois.',
  'login.shape': 'Un jeton commence par wk_.',
  'login.enter': 'Se connecter',
  'login.wrong': 'Ce jeton est inconnu ou terminé.',
  'login.slow': ['Trop d’essais. Attendez {n} seconde.', 'Trop d’essais. Attendez {n} secondes.'],
  'login.party': 'Vous venez jouer ? Le jeu de soirée se passe de jeton.',
  'login.play': 'Rejoindre la partie',
};
