// NIP-77 by nostr-tools and by NDK: what a client lacks it is told, its own
// memory after AUTH, and a stranger nothing of it.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import NDK, { NDKEvent, NDKPrivateKeySigner, NDKRelayAuthPolicies } from '@nostr-dev-kit/ndk'
import { NDKSync } from '@nostr-dev-kit/sync'
import { nip77 } from 'nostr-tools'
import { matchFilters } from 'nostr-tools/filter'
import WebSocket from 'ws'
import { KIND, filterOf, memory, pairOfAgent, seal } from '../lib/engram.js'
import { hex, someone } from '../lib/keys.js'
import { connect } from '../lib/relay.js'
import { start } from '../lib/stage.js'

globalThis.WebSocket ??= WebSocket
// NDK goes on waiting for its relays when it has been told to disconnect, which
// would keep this process for ever. All is reported by then.
after(() => setTimeout(() => process.exit(), 2000).unref())

const stage = await start()
const off = await start('--sync-serve=false')
const [agent, owner, stranger, writer] = [someone(), someone(), someone(), someone()]
const pair = pairOfAgent(agent, owner.pubkey)

// More ids than one message has room for, some of which the client has.
const relay = await connect(stage.url, writer)
const notes = Array.from({ length: 1100 }, (_, n) =>
  writer.sign({ kind: 1, tags: [], content: `note ${n}`, created_at: 1_700_000_000 + Math.floor(n / 3) }))
const missing = notes.filter((_, n) => n % 10 === 0)
const held = notes.filter((_, n) => n % 10 !== 0)
const onlyOurs = writer.sign({ kind: 1, tags: [], content: 'only ours', created_at: 1_700_000_005 })
await Promise.all(notes.map(note => relay.publish(note)))
const engrams = Array.from({ length: 5 }, (_, n) => seal(pair, agent, memory(`mem/${n}`, 'x')))
const asAgent = await connect(stage.url, agent)
for (const engram of engrams) await asAgent.publish(engram)

const ids = events => events.map(event => event.id).sort()
const openFilter = { kinds: [1], authors: [writer.pubkey] }

/** reconcile asks with nostr-tools: which ids each side lacks, and why it ended. */
function reconcile(connection, filter, events) {
  const storage = new nip77.NegentropyStorageVector()
  for (const event of events) storage.insert(event.created_at, event.id)
  storage.seal()
  const need = []
  const have = []
  let reason
  return new Promise(resolve => {
    const sync = new nip77.NegentropySync(connection, storage, filter, {
      onneed: id => need.push(id),
      onhave: id => have.push(id),
      onclose: () => resolve({ need: need.sort(), have: have.sort(), reason }),
    })
    const handle = sync.subscription.oncustom
    sync.subscription.oncustom = answer => { // onclose is not told why
      if (answer[0] === 'NEG-ERR') reason = answer[2]
      handle(answer)
    }
    sync.start()
  })
}

test('nostr-tools is told what either side lacks', async () => {
  const got = await reconcile(relay, openFilter, [...held, onlyOurs])
  assert.deepEqual(got, { need: ids(missing), have: [onlyOurs.id], reason: undefined })
})

test('nostr-tools is told of memory as its agent and owner, and nobody else is', async () => {
  const about = { kinds: [KIND], '#p': [owner.pubkey] }
  for (const [who, filter] of [[agent, filterOf(pair)], [owner, about]]) {
    assert.deepEqual((await reconcile(await connect(stage.url, who), filter, engrams.slice(2))).need, ids(engrams.slice(0, 2)))
  }
  for (const [who, prefix] of [[undefined, /^auth-required: /], [stranger, /^restricted: /]]) {
    const got = await reconcile(await connect(stage.url, who), filterOf(pair), [])
    assert.deepEqual([got.need, got.have], [[], []])
    assert.match(got.reason, prefix)
  }
})

test('where it is not served, it ends at once', async () => {
  const got = await reconcile(await connect(off.url, agent), openFilter, [])
  assert.match(got.reason, /^blocked: negentropy/)
})

/** kept is a cache for NDK that has some events. */
function kept(events) {
  const all = new Map(events.map(event => [event.id, event]))
  return {
    all,
    locking: false,
    query: subscription => [...all.values()].filter(event => matchFilters(subscription.filters, event)).map(event => new NDKEvent(subscription.ndk, event)),
    setEvent: async event => { all.set(event.id, event.rawEvent()) },
  }
}

/** ndk is a client of one relay that has proved a key, with a cache. */
async function ndk(url, who, events) {
  const client = new NDK({ explicitRelayUrls: [url], cacheAdapter: kept(events), enableOutboxModel: false })
  client.signer = new NDKPrivateKeySigner(hex(who.secret))
  client.relayAuthDefaultPolicy = NDKRelayAuthPolicies.signIn({ ndk: client })
  const [connection] = client.pool.relays.values()
  const authed = new Promise(resolve => connection.once('authed', resolve))
  after(() => connection.disconnect())
  await client.connect()
  await authed
  return client
}

/** synced is what NDKSync fetched by negentropy: its fallback shows no rounds. */
async function synced(client, filter) {
  let rounds = 0
  const errors = []
  const got = await NDKSync.sync(client, filter, {
    onNegotiationProgress: () => { rounds++ },
    onRelayError: (_, error) => { errors.push(error.message) },
  })
  return { ...got, rounds, errors }
}

test('NDK fetches what it lacks', async () => {
  const client = await ndk(stage.url, stranger, [...held, onlyOurs])
  const got = await synced(client, openFilter)
  assert.deepEqual([got.errors, ids(got.events), [...got.have]], [[], ids(missing), [onlyOurs.id]])
  assert.ok(got.rounds > 0)
  assert.equal(client.cacheAdapter.all.size, notes.length + 1)
})

test('NDK fetches memory as its agent and owner, and a stranger none', async () => {
  const about = { kinds: [KIND], '#p': [owner.pubkey] }
  for (const [who, filter] of [[agent, { kinds: [KIND], authors: [agent.pubkey] }], [owner, about]]) {
    const got = await synced(await ndk(stage.url, who, engrams.slice(2)), filter)
    assert.deepEqual([got.errors, ids(got.events)], [[], ids(engrams.slice(0, 2))])
  }
  const got = await synced(await ndk(stage.url, stranger, []), { kinds: [KIND], authors: [agent.pubkey] })
  assert.deepEqual([got.events.length, got.need.size], [0, 0])
  assert.match(got.errors[0], /restricted: /)
})
