// Sentences that the server makes, in English. Written from crates/server/src/said.rs; do not edit.
export default {
  'said.in': ' in {ns}',
  'said.jobs.tile': [
    '{active} running, {rate} per second, 1 worker',
    '{active} running, {rate} per second, {n} workers',
  ],
  'said.jobs.tile.noworker': '{active} running, {rate} per second, no worker',
  'said.jobs.noworker': ['1 job waits{in} and no worker is alive.', '{n} jobs wait{in} and no worker is alive.'],
  'said.jobs.noleader': 'No scheduler holds the lead{in}; cron waits.',
  'said.jobs.old': 'The job at the head{in} waits for {age_ms}.',
  'said.jobs.dead': ['One job{in} is a dead letter.', '{n} jobs{in} are dead letters.'],
  'said.jobs.cronfailed': [
    'The last firing of {id}{in} failed for good.',
    'The last firings of {n} recurring jobs{in} failed for good.',
  ],
  'said.jobs.allpaused': 'Every type is paused{in}.',
  'said.jobs.paused': ['{types} is paused{in}.', '{types} are paused{in}.'],
  'said.rooms.nobody': 'Nobody is connected to this server.',
  'said.rooms.tile': [
    'One screen is connected to this server.',
    '{n} screens in {rooms} rooms are connected to this server.',
  ],
  'said.rooms.overdue': [
    'One vote waits for a forced close that is overdue.',
    '{n} votes wait for a forced close that is overdue.',
  ],
  'said.monsters.none': 'no monster lives anywhere',
  'said.monsters.tile': ['in one field, timers: {timers}', 'in {n} fields, timers: {timers}'],
  'said.reactors.none': 'no reactor stands anywhere',
  'said.reactors.tile': ['of one tenant, timers: {timers}', 'of {n} tenants, timers: {timers}'],
  'said.galaxy.none': 'There is no world yet: worldkeep galaxy init',
  'said.galaxy.lost': 'The store has lost the world.',
  'said.galaxy.ticking': 'ticking at {rate} Hz, tick {tick}, {time}Z',
  'said.galaxy.paused': 'paused at {rate} Hz, tick {tick}, {time}Z',
  'said.galaxy.look.paused': 'The game is paused.',
  'said.galaxy.look.behind': ['One tick is due and not done.', '{n} ticks are due and not done.'],
  'said.galaxy.look.energy': 'The energy of the bodies is off by {drift}.',
  'said.galaxy.look.snapshots': [
    'One snapshot could not be kept; the log says why.',
    '{n} snapshots in a row could not be kept; the log says why.',
  ],
  'said.galaxy.look.late': 'Game time is {behind_ms} behind UTC.',
};
