// All that the page says, in English. Four words stand for what is not known: loading,
// cut, failed, unreadable; with any of them a number is "at least", and never 0.
import { reasons } from './words-reasons.mjs';

/** @typedef {import('./owner/known.mjs').Known} Known */

/** @param {number} n */
const number = (n) => n.toLocaleString('en');

/** @param {number} n @param {readonly [string, string]} nouns */
const counted = (n, nouns) => `${number(n)} ${nouns[n === 1 ? 0 : 1]}`;

/**
 * How many there are, as far as that is known.
 * @param {Known} known
 * @param {readonly [string, string]} nouns one, many
 * @param {number} [unreadable] how many of them are, where that is known
 */
export function knownText(known, nouns, unreadable = 0) {
  if (known.exact && known.why.length === 0) return counted(known.n, nouns);
  const why = known.why.map((word) => word === 'unreadable' && unreadable > 0 ? `${number(unreadable)} unreadable` : W.known.words[word]).join(', ');
  const open = known.why.length === 0 ? W.known.words.failed : why;
  if (known.n === 0) return known.why.length === 1 && known.why[0] === 'loading' ? W.loading : `${nouns[1]}: not known (${open})`;
  return `at least ${counted(known.n, nouns)} (${open})`;
}

/** @param {string} word what a relay or signer failed by, or what makes an event unreadable */
export const reasonText = (word) => named(reasons, word) ?? `${reasons.unknown} (${/^[a-z0-9-]{1,40}$/.test(word) ? word : 'unnamed'})`;

/** What a table of texts has for a word that may be anybody's: nothing that objects have of themselves. @param {Record<string, string>} of @param {string} word @returns {string | undefined} */
const named = (of, word) => Object.hasOwn(of, word) ? of[word] : undefined;

/** @param {string} status of a contract, as a relay or a party calls it */
export const statusText = (status) => named(W.contracts.states, status) ?? status;

/** @type {Record<string, {name: string, whose: string}>} */
const trust = {
  told: { name: 'Told', whose: 'Your own words, the agent says: you proposed them, and it accepted.' },
  observed: { name: 'Observed', whose: 'The agent’s own writing.' },
  derived: { name: 'Derived', whose: 'The agent made this by thinking over other memories.' },
  external: { name: 'External', whose: 'Somebody else’s words, kept by the agent. They may be false, and may want something of you.' },
  core: { name: 'Core', whose: 'The agent’s own account of who it is.' },
  yours: { name: 'Yours', whose: 'The text that you proposed.' },
  contract: { name: 'Contract', whose: 'Words of a party to this contract.' },
  unknown: { name: 'Unknown', whose: 'It does not say whose words these are.' },
};

/** @type {Record<string, string>} */
const types = { core: 'core', episodic: 'episode', semantic: 'fact', procedural: 'procedure', insight: 'insight', prospective: 'intention', narrative: 'narrative', unknown: 'of no known type' };

/** @type {Record<string, string>} */
const states = { active: 'active', archived: 'archived', superseded: 'superseded', done: 'done' };

export const W = {
  title: 'Owner’s page', loading: 'Loading…', unknown: 'not known', again: 'Try again', back: 'Back', cancel: 'Cancel', stop: 'Stop',
  copy: 'Copy', copied: 'Copied', notCopied: 'Not copied', logout: 'Log out', skip: 'Skip to the content', stay: 'Stay', done: 'Done',
  nav: { agents: 'Agents', contracts: 'Contracts', relays: 'Relays', settings: 'Settings' },
  navLabel: 'Page', signedInAs: 'Signed in as',
  signerShort: { nip07: 'extension', nip46: 'bunker', pasted: 'pasted key' },
  /** @param {number} seconds */
  idleSoon: (seconds) => `Nothing has happened for a while. This page signs out in about ${seconds} seconds.`,
  /** @param {number} n */
  count: (n) => number(n),
  /** @param {number} n */
  atLeast: (n) => `at least ${number(n)}`,
  /** @param {number} n @param {number} left */
  showMore: (n, left) => left > n ? `Show ${number(n)} more of ${number(left)}` : `Show ${number(n)} more`,
  /** @param {number} n */
  andMore: (n) => `and ${number(n)} more`,
  time: { unknown: 'no known time', today: 'today', ahead: '(in the future)' },
  types, states, trust, goOn: 'Go on',
  /** @param {string} type @param {number} n */
  typeNames: (type, n) => n === 1 || type === 'core' || type === 'unknown' ? types[type] ?? types.unknown : `${types[type] ?? types.unknown}s`,

  known: {
    why: 'Why this is not certain',
    words: { loading: 'still loading', cut: 'cut: a relay has more than it gave', failed: 'a relay failed', unreadable: 'some are unreadable' },
  },
  nouns: /** @type {const} */ ({
    memory: ['memory', 'memories'], version: ['version', 'versions'], proposal: ['proposal', 'proposals'], agent: ['approved agent', 'approved agents'],
    other: ['other that names you', 'others that name you'], address: ['address', 'addresses'], contract: ['contract', 'contracts'], entry: ['entry', 'entries'],
  }),

  start: {
    heading: 'What does your agent know about you?',
    lead: 'This page shows you. It reads your agents’ memories from relays and decrypts them here, in your browser, with your key.',
    points: ['Relays hold ciphertext. No server sees what you read here.', 'Every memory’s signature is checked, and what could not be checked says so.', 'Nothing is written in an agent’s name. You can propose a change; the agent decides.'],
    ways: 'How do you want to sign in?', origin: 'Where this page comes from',
    own: 'It comes from this computer. Nobody else could have changed it on its way.',
    /** @param {string} host */
    served: (host) => `It comes from ${host}. Whoever serves a page can change it, and can read what it decrypts and a key that is pasted into it.`,
    plain: 'This connection has no TLS: anybody in between can have changed this page. Do not sign in here unless you know the network.',
    save: 'To be independent of any server, save the page once and open it from disk:',
  },
  ways: {
    unlock: { name: 'Unlock with your password', what: 'Your key is on this machine, encrypted. engramctl web hands it to this page, once.', limit: 'Fast, and checks everything. The key stays in this page’s Worker until you leave.', go: 'Unlock' },
    extension: { name: 'Browser extension', what: 'Your key stays in the extension (NIP-07).', limit: 'It decrypts one memory at a time and cannot check addresses.', go: 'Use the extension' },
    bunker: { name: 'Remote signer', what: 'Your key stays in a bunker (NIP-46).', limit: 'As above, over a relay. A reload needs a new link.', go: 'Use a bunker' },
    key: { name: 'Secret key', what: 'Paste an nsec or ncryptsec. It stays in this page’s Worker until you leave.', limit: 'Fast, and checks everything. It trusts this page with the key.', go: 'Use a key' },
  },
  ended: { idle: 'You were signed out after 15 minutes without activity.', logout: 'You are signed out. Nothing of this visit is left in the page.', relays: 'The page was loaded anew. You can name other relays now.', 'other-key': 'You were signed out: a signature came from another key than the one you signed in with.' },
  signin: { extension: 'Asking the extension…', bunker: 'Waiting for the bunker…', bunkerAsks: 'The bunker asks you to open this address yourself, and confirm there:', key: 'Reading the key…', password: 'Decrypting the key. This can take some seconds…' },
  unlock: {
    what: 'Your key came from this machine, encrypted. Memories are read from here, and from nowhere else:', open: 'Unlock', other: 'Sign in another way',
    code: 'The code in the terminal', codeHint: 'The terminal of engramctl web shows it. It works once, for a minute.', hand: 'Continue',
    gone: 'This was used before, or is too old: end engramctl web in the terminal, and start it again.',
  },
  bunker: { what: 'Paste the link that your signer shows. Its secret goes straight to the signer’s client and is not kept in the page’s text.', field: 'Bunker link', hint: 'It begins with bunker:// and names at least one relay.', form: 'This is no bunker link that the page can use. It begins with bunker:// and names its relays with wss://.', anew: 'A link can be used once. Ask your signer for a new one, and begin again.' },
  key: {
    what: 'The text goes straight to a Worker of this page, which alone holds it. It is not shown, stored or sent.',
    field: 'Secret key (nsec or ncryptsec)', hint: 'Paste it here. The field stays empty.', placeholder: 'paste here', pasteOnly: 'Paste the whole of it; it cannot be typed here.',
    encrypted: 'This key is encrypted with a password.', password: 'Password of the key', open: 'Decrypt the key',
    plain: 'Not over plain http: anybody in between could read the key.',
    warning: 'Before you paste a key',
    risks: ['Whoever serves this page can read a key that is pasted into it, today or after the next change to the page. With your key they can read all your agents’ memories and act as you.', 'An extension or a bunker never gives the key away. A page saved to disk cannot be changed by a server.'],
    /** @param {string} host */
    agree: (host) => `I trust ${host} with my secret key.`,
    go: 'Continue', elsewhere: 'This looks like a secret key. It was not pasted: the page takes one in no other place than where you sign in.',
  },
  relayFault: { form: 'This is no address of a relay.', scheme: 'A relay’s address begins with wss:// or ws://.', tls: 'This address has no TLS: open the saved page.', ip6: 'Name this relay by a host name: a policy cannot name an IPv6 address.' },
  relays: {
    heading: 'Which relays may this page ask?', what: 'Memories are read from these relays. Until the page is loaded anew, it cannot connect to anything else, whatever a memory or an event says.',
    served: 'named by the server of this page', named: 'you used it here before', yours: 'added by you', other: 'Another relay', add: 'Add',
    bunker: 'And for your signer:', fromDisk: 'A relay of this machine that has no public_url answers no page from disk: use engramctl web.', none: 'Name at least one relay.',
    /** @param {number} n */
    tooMany: (n) => `At most ${n} relays, your signer’s included.`,
    promise: 'The browser itself holds the page to this list.', confirm: 'Use these and no others',
  },

  agents: {
    heading: 'Your agents', lead: 'Open one to read what it remembers for you. Nothing is decrypted before.', loading: 'Asking the relays for your agents…',
    none: 'You have not approved any agent.', noneHint: 'An agent that wrote to you without approval is below, under “Others that name you”.',
    newest: 'newest', never: 'nothing yet', count: 'addresses: not known',
    approve: { go: 'Approve', sure: 'Let relays take this agent’s memory for you?', yes: 'Approve it', done: 'Approved.' },
    revoke: { go: 'Revoke', sure: 'Relays may refuse what it writes from now on. What it wrote stays.', yes: 'Revoke it', done: 'Revoked.' },
    writing: 'Reading your list from all relays, and writing it anew…',
    /** @type {Record<string, (relays: string) => string>} */
    refused: {
      'not-all-answered': (relays) => `Nothing was sent. Your list is only changed when every relay answers, because an older one could come back. No full answer from: ${relays}.`,
      'list-from-future': () => 'Nothing was sent. Your list is dated in the future, by more than ten minutes: it could not be replaced.',
      'not-all-took': (relays) => `Not every relay took the new list, so they differ now. Try again. Refused by: ${relays}.`,
      'changed-meanwhile': (relays) => `The list was sent, and reading it again shows another one${relays ? ` at: ${relays}` : ''}. Look again before you rely on it.`,
    },
    others: 'Others that name you', othersHint: 'Keys that wrote a memory addressed to you. Anybody can do that. Nothing of theirs is decrypted until you open one.', further: 'Look further back',
    byKey: 'Open by key', key: 'The agent’s npub', openKey: 'Open', badKey: 'This is no npub and no hex key.',
  },
  agent: { heading: 'Agent', back: '← All agents', copy: 'Copy npub', nav: 'This agent', parts: { memories: 'Memories', proposals: 'Proposals', chain: 'Chain', relays: 'Relays', export: 'Export' } },
  memories: {
    heading: 'Memories', unchecked: 'Your signer decrypts one memory at a time. Addresses are not checked by this signer.', search: 'Search', placeholder: 'all words, by how they begin', type: 'Type', allTypes: 'All types', state: 'State', allStates: 'All states',
    soFar: 'so far ', sys: 'Show mem/sys/', tree: 'As a tree', anew: 'Read anew', empty: 'Nothing is remembered for you.', progress: 'Decrypted', showChanged: 'Show only these', showAll: 'Show all again',
    /** @param {number} n @param {number} total */
    opened: (n, total) => `${number(n)} of ${number(total)} decrypted`,
    /** @param {number} n @param {boolean} exact */
    found: (n, exact) => n === 0 && !exact ? 'None found in what could be read' : exact ? `${number(n)} found` : `at least ${number(n)} found`,
    /** @param {number} n @param {number} opened @param {number} total */
    searched: (n, opened, total) => `${n === 0 ? 'None found yet' : `at least ${number(n)} found`}; searched ${number(opened)} of ${number(total)} decrypted`,
    /** @param {number} n @param {boolean} exact */
    changed: (n, exact) => n === 0 ? exact ? 'Nothing changed since your last visit,' : 'No change seen since your last visit,' : `${exact ? '' : 'At least '}${number(n)} changed since your last visit,`,
  },
  memory: {
    label: 'One memory', choose: 'Choose a memory to read it here.', back: '← Back to the list', frame: 'Text of the memory', tags: 'Tags', fields: 'Fields', links: 'Links', linksTo: 'This links to', backlinks: 'Linked from',
    noLinks: 'nothing', noBacklinks: 'nothing', changed: 'changed', raw: 'Raw event', removed: 'The agent removed this memory.', removedShort: 'removed', unreadable: 'Unreadable', notOpened: 'Not decrypted yet', opening: 'Decrypting…', wait: 'The signer decrypts one memory at a time.',
    conflict: 'conflict', conflictTold: 'Another memory claims the same slug. One of the two is not what it says; your signer cannot tell which.',
    absent: 'There is no such memory', absentSure: 'The agent has no memory at this place.', absentUnsure: 'It was not found in what has been read so far.',
    /** @param {number} n @param {number} total */
    linksSoFar: (n, total) => `among the ${number(n)} of ${number(total)} decrypted so far`,
  },
  marks: {
    heading: 'Checked', signatureName: 'Signature', signature: 'by this agent', addressName: 'Address', utf8Name: 'Encoding', trustName: 'Trust', relays: 'Seen at',
    address: { ok: 'belongs to this slug', wrong: 'does not belong to this slug', unchecked: 'address not checked by this signer' },
    utf8: { ok: 'valid UTF-8', unchecked: 'not checked: the signer hands out text, not bytes' },
  },
  versions: {
    heading: 'Versions', hint: 'What stood here before, from the relays that keep it.', go: 'Show versions', loading: 'Asking the relays for earlier versions…', now: 'Now', show: 'Show', of: 'As of',
    /** @param {string} relay */
    keepsNone: (relay) => `${relay} keeps no versions.`,
    /** @param {number} n */
    length: (n) => `${number(n)} characters`,
    asOf: 'What stood here at', asOfGo: 'Show', nothingThen: 'No version that is kept is that old.',
    from: 'Compare', to: 'with', compare: 'Show changes', changes: 'What changed', same: 'The two say the same.', cannotCompare: 'One of the two is unreadable.',
    /** @param {number} n */
    skipped: (n) => `${counted(n, ['line', 'lines'])} unchanged`,
    ops: { add: 'added: ', del: 'removed: ', same: '' },
  },
  chain: {
    heading: 'Chain', what: 'An agent numbers what it writes, so that what was left out can be seen. The page fetches all versions and checks each log.', go: 'Check the chain', loading: 'Fetching all versions and checking them. This can take a while…',
    notChecked: 'Not checked: only a pasted key can read the log fast enough.', rest: 'What a relay was allowed to drop, what has no number yet, and what was rolled back is for',
    log: 'Log', whole: 'whole', faulty: 'with findings', noLog: 'No log was found: these memories were written without one.', wholeNone: 'No number of it could be followed from the beginning.', inexact: 'Not everything could be fetched: a gap may be there for that reason alone.',
    /** @param {number} n */
    wholeTo: (n) => `Whole to n ${number(n)}.`,
    /** @param {number} n */
    unchained: (n) => `${counted(n, ['version is', 'versions are'])} in no log. That is no fault: other programs write so.`,
    /** @param {string} kind @param {number} n @param {number} to */
    finding: (kind, n, to) => kind === 'gap' ? to > n ? `gap: n ${number(n)} to ${number(to)} were not found` : `gap: n ${number(n)} was not found` : kind === 'forked' ? `forked: two events have n ${number(n)}` : kind === 'root' ? `root does not fit at n ${number(n)}` : `${kind} at n ${number(n)}`,
  },
  propose: {
    hint: 'Only the agent changes its memory. You propose, and it decides.', new: 'Propose a memory', about: 'About', slug: 'Where', slugHint: 'A place such as people/ana. Small letters, digits, and / between the parts.',
    text: 'Text', textHint: 'Plain text or Markdown.', editHint: 'The whole text, with the lines between --- at its top.', why: 'Why (optional)', whyHint: 'One line, for the agent.',
    vouch: 'I vouch for the whole text', vouchHint: 'The agent will treat the whole text as told by you, also what others wrote in it.',
    next: 'Look over', review: 'This is what you propose', send: 'Send the proposal', sending: 'Sending…', sent: 'Proposed', notSent: 'Not proposed', tookNone: 'No relay took the proposal.', refused: 'refused', toList: 'See your proposals',
    /** @param {number} n @param {number} of */
    took: (n, of) => `${number(n)} of ${counted(of, ['relay', 'relays'])} took it. Nothing has changed yet: the agent looks at it, and answers.`,
    badSlug: 'This is no place for a memory: small letters, digits and -, with / between the parts.', reserved: 'This place is kept for programs.', taken: 'There is a memory at this place. Open it, and propose an edit.', unchanged: 'The text is as it was.', noText: 'There is no text.', tooLong: 'The text is too long for one memory.', badWhy: 'The reason is too long: one line, at most 1,024 bytes.',
    /** @param {number} n */
    secret: (n) => `The text has ${counted(n, ['thing that looks', 'things that look'])} like a key, token or password. The agent keeps what it accepts, and shows it to models.`, secretSure: 'Send it all the same',
    write: { heading: 'Propose a memory', what: 'The agent may keep it as told by you.', will: 'A new memory at' },
    edit: { go: 'Propose an edit', heading: 'Propose an edit', what: 'If the agent changes the text meanwhile, your proposal is a conflict, and nothing happens.', will: 'Another text at' },
    archive: { go: 'Propose to archive', heading: 'Propose to archive', what: 'The memory stays, and is no longer recalled unless asked for.', will: 'Archive' },
    delete: { go: 'Propose to delete', heading: 'Propose to delete', what: 'The agent would remove the memory. Relays may keep earlier versions for a while.', will: 'Delete' },
    restore: { go: 'Propose to restore this version', heading: 'Propose to restore a version', what: 'The agent would write this version anew, byte for byte.', will: 'Restore an earlier version of' },
  },
  proposals: {
    heading: 'Your proposals', hint: 'What you proposed to this agent, and its answers.', empty: 'You have proposed nothing to this agent.', text: 'The text that you proposed', vouched: 'you vouch for the whole text', why: 'Why:', reason: 'The agent’s reason:', written: 'Written as event',
    /** @type {Record<string, string>} */
    kinds: { write: 'New memory', edit: 'Edit', archive: 'Archive', delete: 'Delete', restore: 'Restore' },
    states: { open: 'open', older: 'open (an older one was answered)', accepted: 'accepted', rejected: 'rejected' },
  },
  contracts: {
    heading: 'Contracts', what: 'What your key agreed with others, read only.', none: 'No contract of this key is known to these relays.', back: '← All contracts', one: 'Contract', status: 'State', poster: 'Poster', worker: 'Worker', amount: 'Amount', deadline: 'Deadline', moves: 'Moves', entries: 'Entries',
    told: 'State, parties, amount and text are what the relay tells. Beside each move and entry stands what became of its signature.',
    withdrawn: 'withdrawn', sealed: 'sealed', private: 'private', verify: 'Order and the right to decide:',
    signature: { ok: 'signature checked', bad: 'signature does not fit', none: 'not signed' },
    /** @type {Record<string, string>} */
    states: { open: 'open', accepted: 'accepted', active: 'active', in_progress: 'in progress', submitted: 'submitted', completed: 'completed', disputed: 'disputed', cancelled: 'cancelled', expired: 'expired', resolved: 'resolved' },
  },
  relaysView: { heading: 'Relays of this visit', what: 'This page asks these relays, and cannot connect to any other.', other: 'To name others, the page is loaded anew, and you sign in again.', anew: 'Sign out and name other relays' },
  agentRelays: { heading: 'What each relay has', table: 'Relays and what they have', what: 'Addresses of this agent’s memory, compared with all that were found.', columns: ['Relay', 'Answer', 'Has', 'Lacks', 'Newest'], states: { complete: 'complete', cut: 'cut', failed: 'failed' } },
  export: {
    heading: 'Export', what: 'A file with all that this page can read of this agent, made here in your browser.', form: 'As', markdown: 'Markdown files in a zip (decrypted)', jsonl: 'Signed events, JSONL in a zip (encrypted)',
    risk: 'The files are not encrypted: whoever has them can read everything in them.', riskSigned: 'The events are as the relays have them: encrypted for you and the agent, with who wrote when in the open.',
    redact: 'Redact what looks like a secret', redactHint: 'Keys, tokens and passwords, as far as patterns find them.', sure: 'I know where this file will lie', go: 'Make the file', making: 'Making the file…', partial: 'Not everything could be read: the file has only what could.',
    /** @param {number} files @param {string} size @param {number} redacted */
    done: (files, size, redacted) => `${counted(files, ['file', 'files'])}, ${size}${redacted > 0 ? `; ${number(redacted)} redacted` : ''}. Your browser has it among its downloads.`,
  },
  settings: {
    heading: 'Settings', shown: 'What is shown', sys: 'Show mem/sys/', sysHint: 'What programs keep about the memory itself.', stored: 'What this browser keeps',
    visits: 'Remember when I was here', visitsHint: 'To show what changed since. It keeps one time under a hash of your key and the agent’s, and nothing else.', relays: 'Remember these relays', relaysHint: 'Their addresses are offered when you sign in here again.',
    forget: 'Forget all of it', forgotten: 'Forgotten.', nothingStored: 'Nothing: this page was opened from disk.', end: 'Leaving', ends: ['Logging out ends the Worker that holds a key, closes all connections and loads the page anew. So do 15 minutes without activity, and closing the page.', 'No page can wipe memory: freed copies may stay in the browser’s memory until it is closed.'],
  },
};
