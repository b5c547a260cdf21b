// An agent's memory as files: Markdown for people, or the signed events for programs.
import { newer } from '../nipae/head.mjs';
import { envelopeFault } from '../nipae/open.mjs';
import { isExchange } from '../nipae/slug.mjs';
import { redact } from '../redact.mjs';
import { stored } from '../zip.mjs';
import { Verifying, inForce } from './heads.mjs';
import { known } from './known.mjs';

/** @typedef {import('./pool.mjs').Owner} Owner */

/**
 * @param {Owner} owner @param {string} agent @param {'markdown' | 'jsonl'} form @param {{redact: boolean, signal?: AbortSignal}} o
 */
export async function exportOf(owner, agent, form, { redact: hide, signal }) {
  const answers = await Promise.all(owner.relays.map((r) => r.query({ kinds: [30174], authors: [agent], '#p': [owner.pubkey] }, { signal })));
  const verifying = new Verifying();
  const events = (await inForce(answers.map((a) => a.events.filter((e) => !envelopeFault(e, agent, owner.pubkey))), verifying)).sort((a, b) => newer(b, a));
  const { files, redacted, unreadable, count } = form === 'jsonl' ? await signedFiles(events, verifying) : await textFiles(owner, agent, events, hide, signal);
  const name = `memory-${agent.slice(0, 8)}-${form === 'jsonl' ? 'signed' : 'markdown'}.zip`;
  return { name, bytes: stored(once(files)), redacted, files: count, known: known(events.length - unreadable, answers, { unreadable }) };
}

/**
 * The events as they were signed, one a line: nothing is decrypted for it.
 * @param {import('../nostr/event.mjs').NostrEvent[]} events oldest first @param {Verifying} verifying
 */
async function signedFiles(events, verifying) {
  /** @type {string[]} */
  const lines = [];
  for (const event of events) if (await verifying.good(event)) lines.push(`${JSON.stringify(event)}\n`);
  const bytes = new TextEncoder().encode(lines.join(''));
  return { files: [{ name: 'engrams.jsonl', bytes, date: new Date((events.at(-1)?.created_at ?? 0) * 1000) }], redacted: 0, unreadable: events.length - lines.length, count: lines.length };
}

/**
 * A file for each memory, at its slug.
 * @param {Owner} owner @param {string} agent @param {import('../nostr/event.mjs').NostrEvent[]} events @param {boolean} hide secrets @param {AbortSignal} [signal]
 */
async function textFiles(owner, agent, events, hide, signal) {
  const encoder = new TextEncoder();
  /** @type {{name: string, bytes: Uint8Array, date: Date}[]} */
  const files = [];
  let redacted = 0, unreadable = 0;
  await owner.signer.open(events, {
    peer: agent, signal,
    onOpened: (results) => {
      for (const result of results) {
        if ('unreadable' in result) {
          unreadable++;
          continue;
        }
        const { event, slug, text } = result;
        if (text === null || isExchange(slug)) continue;
        const shown = hide ? redact(text) : { text, count: 0 };
        redacted += shown.count;
        files.push({ name: `${slug.replace(/^mem\//, '')}.md`, bytes: encoder.encode(shown.text), date: new Date(event.created_at * 1000) });
      }
    },
  });
  return { files, redacted, unreadable, count: files.length };
}

/** Two heads may claim one slug behind a signer that cannot check: both are kept. @param {{name: string, bytes: Uint8Array, date: Date}[]} files */
function once(files) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return files.map((file) => {
    const n = seen.get(file.name) ?? 0;
    seen.set(file.name, n + 1);
    return n ? { ...file, name: file.name.replace(/\.md$/, ` (${n + 1}).md`) } : file;
  });
}
