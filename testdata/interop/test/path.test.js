// A relay below a path: the AUTH of nostr-tools and of NDK, which adds a slash
// to every URL, and NIP-98 with and without that slash.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import NDK, { NDKPrivateKeySigner, NDKRelayAuthPolicies } from '@nostr-dev-kit/ndk'
import * as nip98 from 'nostr-tools/nip98'
import WebSocket from 'ws'
import { KIND, filterOf, memory, pairOfAgent, seal } from '../lib/engram.js'
import { hex, someone } from '../lib/keys.js'
import { ask, connect } from '../lib/relay.js'
import { start } from '../lib/stage.js'

globalThis.WebSocket ??= WebSocket
// NDK goes on waiting for its relays when it has been told to disconnect.
after(() => setTimeout(() => process.exit(), 2000).unref())

const port = await free()
const place = `127.0.0.1:${port}/nostr/agents`
const url = `ws://${place}`
await start('--listen', `127.0.0.1:${port}`, '--public-url', url)
const [agent, owner, stranger] = [someone(), someone(), someone()]
const pair = pairOfAgent(agent, owner.pubkey)
const engram = seal(pair, agent, memory('mem/below', 'a path'))
await (await connect(url, agent)).publish(engram)

/** free gives a port that nobody listens on. */
async function free() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** ndk proves a key, by the AUTH that NDK makes, and fails as the relay says. */
async function ndk(who) {
  const client = new NDK({ explicitRelayUrls: [url], enableOutboxModel: false })
  client.signer = new NDKPrivateKeySigner(hex(who.secret))
  client.relayAuthDefaultPolicy = NDKRelayAuthPolicies.signIn({ ndk: client })
  const [connection] = client.pool.relays.values()
  after(() => connection.disconnect())
  const authed = new Promise((resolve, reject) => {
    connection.once('authed', resolve)
    connection.once('auth:failed', reject)
  })
  await client.connect()
  await authed
  assert.equal(connection.url, url + '/')
  return client
}

test('NDK proves its key and reads its memory', async () => {
  for (const who of [agent, owner]) {
    const found = await (await ndk(who)).fetchEvents({ kinds: [KIND], [who === agent ? 'authors' : '#p']: [who.pubkey] })
    assert.deepEqual([...found].map(event => event.id), [engram.id])
  }
  assert.equal((await (await ndk(stranger)).fetchEvents({ ids: ['0'.repeat(64)] })).size, 0)
})

test('nostr-tools proves its key, with a slash, a query and neither', async () => {
  for (const end of ['', '/', '?client=x', '/?client=x']) {
    assert.deepEqual((await ask(await connect(url + end, agent), filterOf(pair))).map(event => event.id), [engram.id], end)
  }
})

test('NIP-98 ignores a slash at the end of the path and no byte of the query', async () => {
  const history = `http://${place}/history`
  const query = `?kind=${KIND}&author=${agent.pubkey}`
  const status = async signed => {
    const authorization = await nip98.getToken(signed, 'get', event => agent.sign(event), true)
    return (await fetch(history + query, { headers: { authorization } })).status
  }
  assert.equal(await status(history + query), 200)
  assert.equal(await status(history + '/' + query), 200)
  assert.equal(await status(history + '//' + query), 401)
  assert.equal(await status(history + query + '&'), 401)
  assert.equal(await status(history), 401)
})
