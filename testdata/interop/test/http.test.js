// The same memory over HTTP.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getToken } from 'nostr-tools/nip98'
import { verifyEvent } from 'nostr-tools/pure'
import { ENTRY, entry, newContract, sealed } from '../lib/contract.js'
import { KIND, address, filterOf, memory, open, pairOfAgent, pairOfOwner, seal, text } from '../lib/engram.js'
import { call } from '../lib/http.js'
import { now, someone } from '../lib/keys.js'
import { ask, connect } from '../lib/relay.js'
import { good, start } from '../lib/stage.js'

const stage = await start()
const [agent, owner, stranger] = [someone(), someone(), someone()]
const pair = pairOfAgent(agent, owner.pubkey)
const ownerPair = pairOfOwner(owner, agent.pubkey)
const ctl = stage.as(agent, pair)

test('POST /events stores, and says when it had the event', async () => {
  const event = seal(pair, agent, memory('mem/http', 'by fetch'), { created_at: now() - 30 })
  for (const message of [/^$/, /^duplicate: /]) {
    const { status, body } = await call(stage, agent, 'POST', '/events', event)
    assert.equal(status, 200)
    assert.deepEqual([body.event_id, body.accepted], [event.id, true])
    assert.match(body.message, message)
  }
  assert.equal(good(await ctl(['mem', 'get', 'http'])), 'by fetch')
  const relay = await connect(stage.url, owner)
  assert.deepEqual((await ask(relay, filterOf(pair, 'mem/http'))).map(e => e.id), [event.id])
})

test('any signer may deliver an event of another, except a protected one', async () => {
  const plain = seal(pair, agent, memory('mem/carried', 'x'))
  assert.equal((await call(stage, stranger, 'POST', '/events', plain)).status, 200)
  const protectedEvent = seal(pair, agent, memory('mem/protected', 'x'), { tags: [['-']] })
  const { status, body } = await call(stage, stranger, 'POST', '/events', protectedEvent)
  assert.equal(status, 403)
  assert.match(body.error, /^restricted: /)
  assert.equal((await call(stage, agent, 'POST', '/events', protectedEvent)).status, 200)
})

test('POST /query and /count give the parties what is theirs', async () => {
  good(await ctl(['mem', 'set', 'both', 'by engramctl']))
  for (const [who, as] of [[agent, pair], [owner, ownerPair]]) {
    const found = await call(stage, who, 'POST', '/query', [filterOf(as, 'mem/both')])
    assert.equal(found.status, 200)
    assert.equal(found.body.length, 1)
    assert.ok(verifyEvent(found.body[0]))
    assert.equal(text(open(as, found.body[0])), 'by engramctl')
    const twice = [filterOf(as, 'mem/both'), { ids: [found.body[0].id] }] // distinct over filters
    assert.equal((await call(stage, who, 'POST', '/query', twice)).body.length, 1)
    assert.deepEqual((await call(stage, who, 'POST', '/count', twice)).body, { count: 1 })
  }
})

test('a stranger and nobody get a status and a reason', async () => {
  for (const path of ['/query', '/count']) {
    const asStranger = await call(stage, stranger, 'POST', path, [{ kinds: [KIND], '#p': [owner.pubkey] }])
    assert.equal(asStranger.status, 403)
    assert.match(asStranger.body.error, /^restricted: /)
    const asNobody = await call(stage, undefined, 'POST', path, [filterOf(pair)])
    assert.equal(asNobody.status, 401)
    assert.match(asNobody.body.error, /^auth-required: /)
    assert.deepEqual((await call(stage, stranger, 'POST', '/query', [{ kinds: [KIND], authors: [stranger.pubkey] }])).body, [])
  }
  const own = `/history?kind=${KIND}&author=${agent.pubkey}`
  assert.deepEqual((await call(stage, stranger, 'GET', own)).body, []) // as if there were none
  assert.equal((await call(stage, undefined, 'GET', own)).status, 401)
})

test('GET /history gives the parties what was superseded, newest first and paged', async () => {
  for (const value of ['one', 'two', 'three', 'four']) good(await ctl(['mem', 'set', 'versions', value]))
  const path = `/history?kind=${KIND}&author=${agent.pubkey}&d=${address(pair, 'mem/versions')}`
  for (const [who, as] of [[agent, pair], [owner, ownerPair]]) {
    const all = await call(stage, who, 'GET', path)
    assert.equal(all.status, 200)
    assert.deepEqual(all.body.map(e => text(open(as, e))), ['three', 'two', 'one'])
    const page = await call(stage, who, 'GET', `${path}&limit=1&until=${all.body[1].created_at}`)
    assert.deepEqual(page.body.map(e => e.id), [all.body[1].id])
  }
})

test('a header signed for something else is no proof', async () => {
  const filters = [filterOf(pair)]
  const wrong = {
    'another path': { url: stage.http + '/count' },
    'another relay': { url: 'https://relay.example/query' },
    'another method': { method: 'GET' },
    'another body': { payload: [{}] },
    'no body': { payload: undefined },
  }
  for (const [name, o] of Object.entries(wrong)) {
    const { status, body } = await call(stage, agent, 'POST', '/query', filters, o)
    assert.equal(status, 401, name)
    assert.match(body.error, /^auth-required: /, name)
  }
  const old = await getToken(stage.http + '/query', 'POST', event => agent.sign({ ...event, created_at: now() - 3600 }), true, filters)
  const response = await fetch(stage.http + '/query', { method: 'POST', headers: { Authorization: old }, body: JSON.stringify(filters) })
  assert.equal(response.status, 401)
  assert.match((await response.json()).error, new RegExp(`${Math.floor(now() / 1000)}`), 'it says what time it is there')
})

test('contract entries: shared ones by the name of the contract, sealed ones to parties', async () => {
  const [poster, worker] = [someone(), someone()]
  const id = newContract()
  const events = [poster.sign(entry(id, worker.pubkey, 'note', 'shared')), worker.sign(sealed(worker, entry(id, poster.pubkey, 'note', 'sealed')))]
  for (const event of events) assert.equal((await call(stage, stranger, 'POST', '/events', event)).status, 200)
  const named = [{ kinds: [ENTRY], '#d': [id] }]
  assert.deepEqual((await call(stage, stranger, 'POST', '/query', named)).body.map(e => e.id), [events[0].id])
  assert.deepEqual((await call(stage, stranger, 'POST', '/count', named)).body, { count: 1 })
  for (const who of [poster, worker]) assert.deepEqual((await call(stage, who, 'POST', '/count', named)).body, { count: 2 })
})

test('what is malformed is 400 with a reason, and never an empty list', async () => {
  for (const filters of [{}, [{ kindz: [1] }], [{ kinds: null }], [{ authors: ['npub1x'] }]]) {
    const { status, body } = await call(stage, agent, 'POST', '/query', filters)
    assert.equal(status, 400, JSON.stringify(filters))
    assert.match(body.error, /^invalid: /)
  }
  const forged = { ...seal(pair, agent, memory('mem/forged', 'x')), created_at: now() - 1 }
  const { status, body } = await call(stage, agent, 'POST', '/events', forged)
  assert.equal(status, 400)
  assert.match(body.error, /^invalid: /)
})
