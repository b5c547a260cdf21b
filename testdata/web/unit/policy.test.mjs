import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectPolicy, loopback, ownPage, plainPage, relayURL } from '../../../internal/web/src/ui/policy.mjs';

/** As if the page came from there. */
const from = (t, address) => {
  globalThis.location = new URL(address);
  t.after(() => { delete globalThis.location; });
};

test('an address of a relay is one, and none that a policy would take for more', t => {
  from(t, 'http://127.0.0.1:7447/app/');
  for (const [text, url] of [['wss://relay.example', 'wss://relay.example'], [' wss://Relay.Example:443/ ', 'wss://relay.example'], ['ws://127.0.0.1:7447', 'ws://127.0.0.1:7447'], ['wss://relay.example/nostr/', 'wss://relay.example/nostr'], ['ws://relay.example', 'ws://relay.example']]) {
    assert.deepEqual(relayURL(text), { url }, text);
  }
  for (const [text, fault] of [['', 'form'], ['relay.example', 'form'], ['https://relay.example', 'scheme'], ['javascript:alert(1)', 'scheme'], ['wss://[::1]:7447', 'ip6'], ['wss://a@relay.example', 'form'], ['wss://relay.example/?x', 'form'], ['wss://relay.example/#x', 'form'],
    ['wss://*', 'form'], ['wss://*.example', 'form'], ['wss://relay.example:*', 'form'], ["wss://relay.example/'none'", 'form'], ['wss://relay.example/;script-src', 'form'], ['wss://relay.example/a,b', 'form'], [`wss://relay.example/${'x'.repeat(1024)}`, 'form']]) {
    assert.deepEqual(relayURL(text), { fault }, text);
  }
});

test('from a page of TLS an address without it is told apart', t => {
  from(t, 'https://owner.example/app/');
  assert.deepEqual(relayURL('ws://relay.example'), { fault: 'tls' });
  assert.deepEqual(relayURL('wss://relay.example'), { url: 'wss://relay.example' });
});

test('the policy names the hosts of these relays, for both of their protocols, and no other', () => {
  assert.equal(connectPolicy([]), "connect-src 'none'");
  assert.equal(connectPolicy(['wss://relay.example/nostr', 'wss://relay.example', 'ws://127.0.0.1:7447']), 'connect-src wss://relay.example https://relay.example ws://127.0.0.1:7447 http://127.0.0.1:7447');
});

test('whose page it is, is told by where it comes from', t => {
  for (const [address, own, plain] of [['file:///home/page.html', true, false], ['http://127.0.0.1:7449/app/', true, false], ['http://localhost/app/', true, false], ['http://[::1]:1/app/', true, false], ['https://relay.example/app/', false, false],
    ['http://relay.example/app/', false, true], ['http://127.0.0.1.relay.example/', false, true], ['http://10.0.0.1/', false, true], ['https://localhost.example/', false, false]]) {
    from(t, address);
    assert.deepEqual([ownPage(), plainPage()], [own, plain], address);
  }
  assert.ok(!loopback('0.0.0.0') && !loopback('::1.example'));
});
