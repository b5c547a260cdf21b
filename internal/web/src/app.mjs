// The owner's page. Sign in, name the relays, read: in this order, and nothing is
// decrypted before the page can reach no other relay.
import { Owner } from './owner/pool.mjs';
import { agentsView } from './ui/agents.mjs';
import { agentView } from './ui/agent.mjs';
import { confirmRelays, servedBeside } from './ui/confirm.mjs';
import { contractsView } from './ui/contracts.mjs';
import { names } from './ui/keys.mjs';
import { narrow, relayURL } from './ui/policy.mjs';
import { relaysView } from './ui/relays.mjs';
import { Router } from './ui/router.mjs';
import { guardKeys } from './ui/secret.mjs';
import { end, endedBy, holds, watchIdle } from './ui/session.mjs';
import { load } from './ui/settings-store.mjs';
import { settingsView } from './ui/settings.mjs';
import { say, shell } from './ui/shell.mjs';
import { bunker, bunkerLink, extension, pasted, warned } from './ui/signin.mjs';
import { startView } from './ui/start.mjs';
import { handed, opened, takeTicket } from './ui/unlock.mjs';

const ticket = takeTicket();

/** @typedef {import('./ui/context.mjs').Context} Context */
/** @typedef {import('./ui/router.mjs').Route} Route */

/** @type {Record<string, (ctx: Context, route: Route) => import('./ui/router.mjs').View>} */
const views = { agents: agentsView, agent: agentView, contracts: contractsView, relays: relaysView, settings: settingsView };

const settings = load();

/** What is done about idleness before there is a frame to tell it in: nothing but the end. */
/** @type {(seconds: number | null) => void} */
let warn = () => {};

/** What stands beside the page. */
const beside = servedBeside();

/** @param {string | null} ended */
async function begin(ended) {
  const { unlock } = await beside;
  startView({ ended, unlock, choose: (way) => { if (way === 'unlock') unlockWith(null); else signIn(way); } });
}

/** @param {string | null} given the ticket that led here */
async function unlockWith(given) {
  const back = () => begin(null);
  const got = await handed(given, back);
  let relays = (await beside).urls.flatMap((text) => { const read = relayURL(text); return 'url' in read ? [read.url] : []; });
  if (relays.length === 0) relays = await confirmRelays({ served: [], named: settings.relays, bunker: [], back });
  let narrowed = false;
  const confirmed = () => {
    narrowed = true;
    narrow(relays);
    watchIdle({ warn: (seconds) => warn(seconds) });
  };
  const signer = await opened(got, relays, { confirmed, back: () => (narrowed ? end('relays') : back()) });
  for (const [key, name] of got.names) names.set(key, name);
  read(signer, relays, got);
}

/** @param {import('./ui/start.mjs').Way} way */
async function signIn(way) {
  const back = () => begin(null);
  if (way === 'key') await warned(back);
  const link = way === 'bunker' ? await bunkerLink(back) : null;
  const relays = await confirmRelays({ served: (await beside).urls, named: settings.relays, bunker: link?.relays ?? [], back });
  narrow([...relays, ...(link?.relays ?? [])]);
  // A key may be in the Worker from here on.
  watchIdle({ warn: (seconds) => warn(seconds) });
  // From here on the only way back is a new load, because the policy stays.
  const anew = () => end('relays');
  const signer = link ? await bunker(link.link, anew) : way === 'key' ? await pasted(anew) : await extension(anew);
  read(signer, relays);
}

/**
 * @param {import('./signers/nip07.mjs').Signer} signer
 * @param {string[]} relays
 * @param {{agent: string | null} | null} [straight] see Context
 */
function read(signer, relays, straight = null) {
  leaveWithOtherKey(signer);
  const owner = holds(new Owner({ signer, relays, onOtherKey: () => end('other-key') }));
  const frame = shell({ pubkey: signer.pubkey, kind: signer.kind, go: (view) => router.go({ view }), logout: () => end('logout') });
  /** @type {Context} */
  const ctx = { owner, signer, relays, settings, say, go: (route) => router.go(route), again: () => router.again(), open: new Map(), straight, end };
  const router = new Router(frame.main, (route) => (views[route.view] ?? agentsView)(ctx, route), (route) => frame.mark(route.view === 'agent' ? 'agents' : route.view));
  warn = frame.warnIdle;
  router.go({ view: 'agents' });
}

/**
 * A signature by another key than the one that signed in ends the session, wherever it
 * was asked for.
 * @param {import('./signers/nip07.mjs').Signer} signer
 */
function leaveWithOtherKey(signer) {
  const { sign, propose } = signer;
  const leave = (/** @type {{word?: string}} */ error) => {
    if (error.word === 'other-key') end('other-key');
    throw error;
  };
  signer.sign = (template) => sign(template).catch(leave);
  signer.propose = (proposal) => propose(proposal).catch(leave);
}

guardKeys();
const ended = endedBy();
if (ticket) unlockWith(ticket);
else begin(ended);
