// One sign-in: who reads, through which relays, and how it ends. The end is always
// the same: the Worker is ended, sockets are closed, the page is emptied and loaded anew.

/** Idle time after which the page signs out, and how long before that it says so, in ms. */
export const IDLE = 15 * 60_000;
const WARN = 60_000;

/** Why the page was loaded anew, for the next load to tell. It is no secret and holds nothing of one. */
export const ENDINGS = /** @type {const} */ (['idle', 'logout', 'relays', 'other-key']);

/** @typedef {typeof ENDINGS[number]} Ending */

/** @typedef {{close(): unknown}} Closable */

/** What is to be closed at the end, the last opened first. */
/** @type {Closable[]} */
const open = [];

let ended = false;

/**
 * Has something closed when the session ends.
 * @template {Closable} T
 * @param {T} what
 * @returns {T}
 */
export function holds(what) {
  open.push(what);
  return what;
}

function wipe() {
  for (const what of open.splice(0).reverse()) {
    try {
      what.close();
    } catch {
      // It is closed, or was never open: either way nothing of it is left.
    }
  }
  for (const control of document.querySelectorAll('input, textarea')) {
    /** @type {HTMLInputElement} */ (control).value = '';
  }
  document.getElementById('page')?.replaceChildren();
}

/**
 * Ends the session. Nothing runs on after it.
 * @param {Ending} why
 */
export function end(why) {
  if (ended) return;
  ended = true;
  wipe();
  history.replaceState({ ended: why }, '');
  location.reload();
}

/** Why the session before this load ended, once. @returns {Ending | null} */
export function endedBy() {
  const why = history.state?.ended;
  history.replaceState(null, '');
  return ENDINGS.includes(why) ? why : null;
}

// What leaves the screen is over, also when the browser could bring it back as it was.
addEventListener('pagehide', () => {
  if (open.length > 0) ended = true;
  wipe();
});
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

/**
 * Watches the wall clock, so that a laptop that slept is idle too.
 * @param {{warn: (seconds: number | null) => void, now?: () => number}} options
 */
export function watchIdle({ warn, now = Date.now }) {
  let last = now();
  let warned = false;
  const active = () => {
    check();
    last = now();
    if (warned) warn(null);
    warned = false;
  };
  const check = () => {
    const idle = now() - last;
    if (idle < 0) last = now(); // The clock was set back: counting begins anew.
    if (idle >= IDLE) end('idle');
    else if (idle >= IDLE - WARN && !warned) {
      warned = true;
      warn(Math.round((IDLE - idle) / 1000));
    }
  };
  for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchstart']) addEventListener(kind, active, { passive: true, capture: true });
  document.addEventListener('visibilitychange', check);
  addEventListener('focus', check);
  setInterval(check, 5000);
}
