// What every view is given.

/**
 * @typedef {object} Context
 * @property {import('../owner/pool.mjs').Owner} owner
 * @property {import('../signers/nip07.mjs').Signer} signer
 * @property {string[]} relays
 * @property {import('./settings-store.mjs').Settings} settings
 * @property {(text: string) => void} say
 * @property {(route: import('./router.mjs').Route) => void} go
 * @property {() => void} again shows the present view anew
 * @property {Map<string, import('./reading.mjs').Reading>} open memories that are being read, by agent
 * @property {{agent: string | null} | null} straight the list of agents opens the only one there is, or else this one where none is approved; once
 * @property {(why: import('./session.mjs').Ending) => void} end
 */

/** Who owns himself writes, and does not propose. @param {Context} ctx @param {string} agent */
export const isOwn = (ctx, agent) => ctx.signer.pubkey === agent;
