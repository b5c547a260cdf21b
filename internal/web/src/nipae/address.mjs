// Where an engram is (NIP-AE, "Addressing"): the d tag, made of the slug and the
// pair's key, or for a proposal of the two public keys and its id.
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { getConversationKey } from 'nostr-tools/nip44';

const domain = utf8ToBytes('agent-memory/v1/d-tag\0');
const proposalDomain = utf8ToBytes('engramd/proposal/v1\0');

/** The key of NIP-44 that two parties share. @param {Uint8Array} secret @param {string} peer public key */
export const conversationKey = (secret, peer) => getConversationKey(secret, peer);

/** The d tag of a slug. @param {Uint8Array} key @param {string} slug */
export const address = (key, slug) => bytesToHex(hmac(sha256, key, concatBytes(domain, utf8ToBytes(slug))));

/** @param {string} s */
export const isProposalId = s => /^[0-9a-f]{32}$/.test(s);

/**
 * The d tag of a proposal; it needs no secret. Who owns himself cannot propose.
 * @param {string} proposer @param {string} agent public keys @param {string} id
 */
export function proposalAddress(proposer, agent, id) {
  if (proposer === agent || !isProposalId(id)) throw new Error('no proposal is at such an address');
  return bytesToHex(sha256(concatBytes(proposalDomain, hexToBytes(proposer), hexToBytes(agent), utf8ToBytes(id))));
}

/**
 * The d tag at which an author keeps a slug for another key.
 * @param {Uint8Array} key @param {string} author @param {string} other @param {string} slug
 */
export function addressIn(key, author, other, slug) {
  const id = slug.startsWith('mem/proposals/') ? slug.slice('mem/proposals/'.length) : '';
  return isProposalId(id) && author !== other ? proposalAddress(author, other, id) : address(key, slug);
}
