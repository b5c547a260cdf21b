// What the tests' owner has: an agent whose memory has versions, one of them wrong, a
// second agent, somebody who only claims to be one, and a contract in dispute.
import { newParty } from './relay.mjs';

export const planted = 'walnut-4711'; // stands in one memory, and nowhere else

/** @param {{url: string, dir: string}} relay @param {{contracts?: boolean}} [o] */
export async function household(relay, o = {}) {
  const owner = await newParty(relay, 'owner');
  const agent = await newParty(relay, 'agent');
  const second = await newParty(relay, 'second');
  const mem = (...args) => agent.mem(owner, 'mem', ...args);
  await mem('set', 'core', '# Sami\n\nI answer briefly, and look after Ana’s projects.');
  await mem('set', 'people/ana', '---\ntags: [people, family]\n---\nAna prefers to be answered in English.');
  await mem('set', 'people/ana', `---\ntags: [people, family]\n---\nAna prefers to be answered in Spanish. Her word is ${planted}.\n\nSee [[mem/projects/atlas]].`);
  await mem('set', 'projects/atlas', '# Atlas\n\n- keeps its data in SQLite\n- *why*: one file, no server\n\n> Decided with [[mem/people/ana]] in May.\n\n```sql\nSELECT 1;\n```\nMore at https://example.org/atlas');
  await mem('set', 'journal/2026-05-04', 'Met Ana. We talked about Atlas.');
  await mem('set', 'gone', 'to be removed');
  await mem('rm', 'gone');
  await second.mem(owner, 'mem', 'set', 'core', 'I keep the books.');
  await second.mem(owner, 'mem', 'set', 'ledger', 'Invoice 7 is open.');
  await owner.ctl(['agents', 'allow', agent.npub]);
  return { owner, agent, second, ...(o.contracts ? { contract: await dispute(relay, owner) } : {}) };
}

/** A contract of the owner's that ends in a dispute, with a sealed and a withdrawn entry. */
async function dispute(relay, owner) {
  const worker = await newParty(relay, 'worker');
  const offered = JSON.parse(await owner.ctl(['contract', 'new', 'A summary of the filings of the last 7 days', '--worker', worker.npub, '--sats', '5000', '--json']));
  const id = offered.contract.contract_id;
  await owner.ctl(['contract', 'say', id, 'Name the source of every figure']);
  await worker.ctl(['contract', 'move', id, 'accepted']);
  await worker.ctl(['contract', 'say', id, 'The figures are estimates, as we agreed', '--seal']);
  await worker.ctl(['contract', 'say', id, 'The summary, 12 pages', '--type', 'deliverable']);
  await worker.ctl(['contract', 'move', id, 'submitted']);
  await owner.ctl(['contract', 'move', id, 'disputed', '--note', 'Half of the figures have no source']);
  return { id, worker };
}
