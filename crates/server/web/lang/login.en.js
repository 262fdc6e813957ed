// The way in with a token.
export default {
  'login.title': 'Log in',
  'login.say': 'This server asks for a token.',
  'login.ended': 'Your session has ended. Log in again.',
  'login.token': 'Token',
  'login.hint': 'It starts with wk_ and is sent once.',
  'login.shape': 'A token starts with wk_.',
  'login.enter': 'Log in',
  'login.wrong': 'This token is not known, or it has ended.',
  'login.slow': ['Too many tries. Wait {n} second.', 'Too many tries. Wait {n} seconds.'],
  'login.party': 'Here to play? The party game needs no token.',
  'login.play': 'Join the game',
};
