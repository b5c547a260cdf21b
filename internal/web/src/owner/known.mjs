// How much of something is known, in the four words of the page: loading, cut, failed,
// unreadable. With none of them a number is exact; with any it is "at least".

/** @typedef {'loading' | 'cut' | 'failed' | 'unreadable'} Why */
/** @typedef {{n: number, exact: boolean, why: Why[], details: {relay: string, reason: string}[]}} Known */
/** @typedef {import('../nostr/relay.mjs').Answer} Answer */

/**
 * What is known by the answers of all relays.
 * @param {number} n @param {{relay: string, state: 'complete' | 'cut' | 'failed', reason?: string, unreadable?: number}[]} answers
 * @param {{loading?: boolean, unreadable?: number}} [o] entries that cannot be read
 * @returns {Known}
 */
export function known(n, answers, o = {}) {
  /** @type {Known} */
  const all = { n, exact: false, why: [], details: [] };
  const say = (/** @type {Why} */ word) => { if (!all.why.includes(word)) all.why.push(word); };
  const tell = (/** @type {string} */ relay, /** @type {string} */ reason) => {
    if (!all.details.some((d) => d.relay === relay && d.reason === reason)) all.details.push({ relay, reason });
  };
  if (o.loading) say('loading');
  for (const { relay, state, reason, unreadable } of answers) {
    if (state !== 'complete') {
      say(state);
      tell(relay, reason ?? state);
    }
    if (unreadable) {
      say('unreadable');
      tell(relay, 'unreadable-frames');
    }
  }
  if (o.unreadable) {
    say('unreadable');
    tell('', 'unreadable-entries');
  }
  all.exact = all.why.length === 0;
  return all;
}

/**
 * An HTTP answer that did not come, as relays' answers are told.
 * @param {string} relay @param {unknown} error
 * @returns {{relay: string, state: 'failed', reason: string}}
 */
export const failed = (relay, error) => ({ relay, state: 'failed', reason: String(/** @type {{word?: string}} */ (error)?.word ?? 'failed') });
