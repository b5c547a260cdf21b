// The wire by nostr-tools' relay class over the ws package.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Relay, useWebSocketImplementation } from 'nostr-tools/relay'
import WebSocket from 'ws'

useWebSocketImplementation(WebSocket)

const patience = 90_000

/**
 * connect opens a connection and, with somebody, proves the key (NIP-42): the
 * promise ends when the relay has said OK. It is closed with the tests of the file.
 */
export async function connect(url, who) {
  const relay = new Relay(url)
  relay.publishTimeout = patience
  after(() => relay.close())
  if (!who) {
    await relay.connect()
    return relay
  }
  let challenged
  const challenge = new Promise(resolve => { challenged = resolve })
  relay.onauth = async template => {
    challenged()
    return who.sign(template)
  }
  await relay.connect()
  await challenge
  await relay.auth(relay.onauth) // the one that runs already
  return relay
}

/**
 * subscribe resolves at EOSE with the subscription and what was stored, and
 * throws what CLOSED says; onevent gets what comes later.
 */
function subscribe(relay, filters, onevent) {
  return new Promise((resolve, reject) => {
    const stored = []
    let eose = false
    const late = setTimeout(() => reject(new Error('no EOSE')), patience)
    const sub = relay.subscribe(filters, {
      eoseTimeout: 2 * patience, // then nostr-tools would invent one
      onevent: event => (eose ? onevent(event) : stored.push(event)),
      oninvalidevent: event => reject(new Error(`nostr-tools discards ${JSON.stringify(event)}`)),
      oneose: () => {
        clearTimeout(late)
        eose = true
        resolve({ sub, stored })
      },
      onclose: reason => {
        clearTimeout(late)
        reject(new Error(reason)) // without effect after EOSE
        sub.receivedEose() // stops its timer
      },
    })
  })
}

/** ask gives the stored events. */
export async function ask(relay, ...filters) {
  const { sub, stored } = await subscribe(relay, filters, () => {})
  sub.close()
  return stored
}

/** live subscribes; next waits for an event after EOSE, pending are those that wait for it. */
export async function live(relay, ...filters) {
  const pending = []
  const waiting = []
  const { sub } = await subscribe(relay, filters, event => (waiting.length ? waiting.shift()(event) : pending.push(event)))
  const next = () => (pending.length ? Promise.resolve(pending.shift()) : new Promise(resolve => waiting.push(resolve)))
  return { next, pending, close: () => sub.close() }
}

/** count gives the number, and throws what CLOSED says. */
export const count = (relay, ...filters) => relay.count(filters, {})

/** refused wants a promise to fail with a message of that prefix. */
export async function refused(promise, prefix) {
  await assert.rejects(promise, error => {
    assert.ok(error.message.startsWith(prefix), `want ${prefix}, have ${error.message}`)
    return true
  })
}
