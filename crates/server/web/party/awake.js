// Keeps the screen lit while a vote is open, where the browser allows it.
let lock = null;
let wanted = false;

async function hold() {
  if (!wanted || lock || document.hidden || !navigator.wakeLock) return;
  try {
    lock = await navigator.wakeLock.request('screen');
    lock.addEventListener('release', () => {
      lock = null;
    });
    if (!wanted) awake(false);
  } catch {
    /* low battery, or not allowed: the game goes on */
  }
}

export function awake(on) {
  wanted = on;
  if (on) hold();
  else if (lock) lock.release().catch(() => null);
}
document.addEventListener('visibilitychange', hold);
