// Keys as nostr-tools writes them are taken by engramctl, and the reverse.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { decode, npubEncode, nsecEncode } from 'nostr-tools/nip19'
import * as nip49 from 'nostr-tools/nip49'
import { getPublicKey } from 'nostr-tools/pure'
import { hex, someone } from '../lib/keys.js'
import { good, start } from '../lib/stage.js'

const stage = await start()
const password = 'Åθ ½ correct horse' // not the same bytes in every normal form of Unicode

/** shown is what key show prints: npub and hex. */
const shown = who => `${npubEncode(who.pubkey)}\n${who.pubkey}\n`

test('nsec, hex and ncryptsec of nostr-tools', async () => {
  const who = someone()
  const passwordFile = await stage.file('password', password + '\n')
  const forms = { nsec: nsecEncode(who.secret), hex: hex(who.secret), ncryptsec: nip49.encrypt(who.secret, password, 12) }
  for (const [form, text] of Object.entries(forms)) {
    const env = { ENGRAM_KEY_FILE: await stage.file(form, text), ENGRAM_KEY_PASSWORD_FILE: passwordFile }
    assert.equal(good(await stage.ctl(env, ['key', 'show'])), shown(who), form)
  }
  assert.equal(good(await stage.ctl({ ENGRAM_KEY: forms.nsec }, ['key', 'show'])), shown(who))
})

test('key files of engramctl', async () => {
  const passwordFile = await stage.file('new.password', password)
  const plain = good(await stage.ctl({}, ['key', 'new', 'plain.key'])).split('\n')
  const nsec = decode((await readFile(`${stage.dir}/plain.key`, 'utf8')).trim())
  assert.equal(nsec.type, 'nsec')
  assert.equal(decode(plain[0]).data, getPublicKey(nsec.data))
  assert.equal(plain[1], getPublicKey(nsec.data))

  const sealed = good(await stage.ctl({}, ['key', 'new', 'sealed.key', '--password-file', passwordFile])).split('\n')
  const secret = nip49.decrypt((await readFile(`${stage.dir}/sealed.key`, 'utf8')).trim(), password)
  assert.equal(getPublicKey(secret), sealed[1])
})
