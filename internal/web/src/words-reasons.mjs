// What each failure is called. The words are the page's own; what a relay or a signer
// wrote is never among them.

/** @type {Record<string, string>} */
export const reasons = {
  unknown: 'something went wrong',
  // Relays.
  silent: 'silent for 10 seconds', closed: 'closed the connection', unreachable: 'could not be reached', refused: 'refused',
  'no-tls': 'this address has no TLS: open the saved page', 'no-auth': 'did not ask who you are', 'not-authenticated': 'did not take the proof of who you are',
  'no-progress': 'has more than it gave, and gives the same again', more: 'has more than it gave', cut: 'has more than it gave', 'asked-for-no-more': 'has more than the page asked for', 'too-many': 'has more than the page takes', 'too-large': 'answered more than the page takes',
  floods: 'sent more than it was asked for', 'rate-limited': 'asks to be asked more slowly', 'not-there': 'does not have it', unready: 'is not ready', 'unreadable-answer': 'answered something unreadable', 'no-count': 'does not count', failed: 'failed',
  'unreadable-frames': 'sent something unreadable', 'unreadable-entries': 'Some entries cannot be read; the list shows which.', 'not-all-answered': 'not every relay answered', 'list-from-future': 'the list is from the future', 'not-all-took': 'not every relay took it', 'changed-meanwhile': 'it was changed meanwhile',
  loading: 'has not answered yet', 'no-history': 'keeps no versions', 'no-contracts': 'keeps no contracts',
  'not-found': 'No relay has it.', 'bad-slug': 'This is no place for a memory.', 'no-base': 'The text that is there now is not known.', 'no-version': 'The version is not known.',
  // Signers.
  'no-extension': 'No extension was found. Install one, allow it for this page, and try again.', 'no-nip44': 'This extension cannot decrypt memories: it lacks nip44.',
  'other-key': 'The signature came from another key.', 'bad-signature': 'The signer answered something else than it was asked.', 'signer-refused': 'The signer refused.', 'logged-out': 'You are signed out.',
  'not-a-key': 'This is no nsec and no ncryptsec.', 'wrong-password': 'The password does not open this key.', 'key-too-hard': 'This key needs more work than a browser should do: open it with engramctl.',
  'no-bunker': 'This is no bunker link.', 'bunker-failed': 'The bunker could not be reached, or refused.', 'never-signed': 'The page never signs that.',
  // What makes an event unreadable.
  'not-engram': 'It is not a memory between you and this agent.', 'not-payload': 'What it holds is no encrypted text.', 'not-signed': 'Its signature does not fit.', 'not-decrypted': 'It cannot be decrypted with your key.',
  'wrong-address': 'It does not lie at the address of its slug.', 'not-json': 'What it holds is no valid JSON.', 'no-slug': 'The name that it gives itself is not allowed.', 'no-text': 'It has no text.', 'no-proposal': 'It is no proposal that agents take.', 'not-utf8': 'Its text is no valid UTF-8.',
};
