// A few notes on the big screen, off unless the host switches them on. No files: tones are made where they are heard.
import { keep, read } from './kept.js';

/** name → [frequency in Hz, start in s, length in s] of each note. */
const TUNES = {
  start: [
    [523, 0, 0.12],
    [659, 0.12, 0.12],
    [784, 0.24, 0.2],
  ],
  tick: [[880, 0, 0.06]],
  closed: [
    [440, 0, 0.18],
    [330, 0.18, 0.3],
  ],
  drop: [[196, 0, 0.16]],
  glad: [
    [659, 0, 0.1],
    [784, 0.1, 0.1],
    [1047, 0.2, 0.35],
  ],
  sad: [
    [392, 0, 0.2],
    [311, 0.2, 0.4],
  ],
  win: [
    [523, 0, 0.14],
    [659, 0.14, 0.14],
    [784, 0.28, 0.14],
    [1047, 0.42, 0.5],
  ],
};
const LOUD = 0.12;

let context = null;

export const hasSound = () => read('sound') === true;

/** Switches it; by a click, so that the browser lets it be heard. */
export function setSound(on) {
  keep('sound', on ? true : null);
  if (on) sound('start');
}

/** Plays a tune by its name when sound is on. */
export function sound(name) {
  if (!hasSound() || !globalThis.AudioContext) return;
  context ||= new AudioContext();
  if (context.state === 'suspended') context.resume().catch(() => null);
  for (const [hertz, from, length] of TUNES[name]) {
    const at = context.currentTime + from;
    const tone = new OscillatorNode(context, { type: 'triangle', frequency: hertz });
    const volume = new GainNode(context, { gain: 0 });
    volume.gain.linearRampToValueAtTime(LOUD, at + 0.01);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + length);
    tone.connect(volume).connect(context.destination);
    tone.start(at);
    tone.stop(at + length);
  }
}
