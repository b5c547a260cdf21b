// A signer somewhere else (NIP-46), reached over the relays of its link. The client's
// key is made here and lives as long as the page: a reload needs a new link.
import { BunkerSigner, parseBunkerInput } from 'nostr-tools/nip46';
import { generateSecretKey } from 'nostr-tools/pure';
import { isHex32 } from '../nostr/event.mjs';
import { SignerError, outsideSigner } from './nip07.mjs';

const MOST = 10; // relays of a link
const PATIENCE = 60_000; // ms: somebody may have to press a button

/**
 * @param {string} link bunker://… @param {{signal: AbortSignal, onAuthUrl: (url: string) => void}} o
 * @returns {Promise<import('./nip07.mjs').Signer>}
 */
export async function connectBunker(link, { signal, onAuthUrl }) {
  const pointer = link.startsWith('bunker://') ? await parseBunkerInput(link) : null;
  if (!pointer?.relays.length || pointer.relays.length > MOST) throw new SignerError('no-bunker');
  for (const relay of pointer.relays) {
    const protocol = URL.canParse(relay) ? new URL(relay).protocol : '';
    if (protocol !== 'wss:' && protocol !== 'ws:') throw new SignerError('no-bunker');
    if (protocol === 'ws:' && globalThis.location?.protocol === 'https:') throw new SignerError('no-tls');
  }
  const bunker = BunkerSigner.fromBunker(generateSecretKey(), pointer, { onauth: (url) => onAuthUrl(String(url).slice(0, 2000)) });
  const close = () => {
    bunker.close().catch(() => {});
    /** @type {any} */ (bunker).pool.close(pointer.relays); // else its sockets stay
  };
  try {
    await within(bunker.connect(), signal);
    const pubkey = await within(bunker.getPublicKey(), signal);
    if (!isHex32(pubkey)) throw new SignerError('bad-signature');
    return outsideSigner('nip46', pubkey, {
      signEvent: (template) => within(bunker.signEvent(template)),
      decrypt: (peer, payload) => within(bunker.nip44Decrypt(peer, payload)),
      encrypt: (peer, text) => within(bunker.nip44Encrypt(peer, text)),
    }, close);
  } catch (error) {
    close();
    throw error instanceof SignerError ? error : new SignerError('bunker-failed');
  }
}

/** @template T @param {Promise<T>} work @param {AbortSignal} [signal] @returns {Promise<T>} */
function within(work, signal) {
  return new Promise((resolve, reject) => {
    const clock = setTimeout(() => reject(new SignerError('silent')), PATIENCE);
    const stop = () => reject(new SignerError('logged-out'));
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    work.then(resolve, reject).finally(() => {
      clearTimeout(clock);
      signal?.removeEventListener('abort', stop);
    });
  });
}
