// The owner's page. Sign in, name the relays, read: in this order, and nothing is
// decrypted before the page can reach no other relay.
import { Owner } from './owner/pool.mjs';
import { agentsView } from './ui/agents.mjs';
import { agentView } from './ui/agent.mjs';
import { confirmRelays, servedRelays } from './ui/confirm.mjs';
import { contractsView } from './ui/contracts.mjs';
import { narrow } from './ui/policy.mjs';
import { relaysView } from './ui/relays.mjs';
import { Router } from './ui/router.mjs';
import { guardKeys } from './ui/secret.mjs';
import { end, endedBy, holds, watchIdle } from './ui/session.mjs';
import { load } from './ui/settings-store.mjs';
import { settingsView } from './ui/settings.mjs';
import { say, shell } from './ui/shell.mjs';
import { bunker, bunkerLink, extension, pasted, warned } from './ui/signin.mjs';
import { startView } from './ui/start.mjs';

/** @typedef {import('./ui/context.mjs').Context} Context */
/** @typedef {import('./ui/router.mjs').Route} Route */

/** @type {Record<string, (ctx: Context, route: Route) => import('./ui/router.mjs').View>} */
const views = { agents: agentsView, agent: agentView, contracts: contractsView, relays: relaysView, settings: settingsView };

const settings = load();

/** What is done about idleness before there is a frame to tell it in: nothing but the end. */
/** @type {(seconds: number | null) => void} */
let warn = () => {};

/** @param {string | null} ended */
function begin(ended) {
  startView({ ended, choose: (way) => { signIn(way); } });
}

/** @param {import('./ui/start.mjs').Way} way */
async function signIn(way) {
  const back = () => begin(null);
  if (way === 'key') await warned(back);
  const link = way === 'bunker' ? await bunkerLink(back) : null;
  const relays = await confirmRelays({ served: await servedRelays(), named: settings.relays, bunker: link?.relays ?? [], back });
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
 */
function read(signer, relays) {
  leaveWithOtherKey(signer);
  const owner = holds(new Owner({ signer, relays, onOtherKey: () => end('other-key') }));
  const frame = shell({ pubkey: signer.pubkey, kind: signer.kind, go: (view) => router.go({ view }), logout: () => end('logout') });
  /** @type {Context} */
  const ctx = { owner, signer, relays, settings, say, go: (route) => router.go(route), again: () => router.again(), open: new Map(), end };
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
begin(endedBy());
