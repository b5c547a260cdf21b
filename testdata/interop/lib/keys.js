// Who takes part. All by nostr-tools.
import { generateSecretKey, getPublicKey, finalizeEvent } from 'nostr-tools/pure'

/** now is Unix seconds. */
export const now = () => Math.floor(Date.now() / 1000)

/** hex of bytes, lower case. */
export const hex = bytes => Buffer.from(bytes).toString('hex')

/** bytes of hex. */
export const bytes = text => new Uint8Array(Buffer.from(text, 'hex'))

/**
 * someone is a key pair that signs; a new one without an argument.
 * @param {Uint8Array} [secret] 32 bytes
 */
export function someone(secret = generateSecretKey()) {
  return {
    secret,
    pubkey: getPublicKey(secret),
    /** sign makes an event; created_at is now unless given. */
    sign: template => finalizeEvent({ created_at: now(), tags: [], content: '', ...template }, secret),
  }
}
