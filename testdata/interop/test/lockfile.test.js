// The lock file says what is installed, and not from where: that is npm's
// configuration on each machine. The hashes hold wherever it comes from.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

test('the lock file holds versions and hashes, and no hosts', () => {
  const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url)))
  for (const [path, one] of Object.entries(packages)) {
    assert.equal(one.resolved, undefined, path)
    if (path) assert.match(one.integrity, /^sha512-/, path)
  }
})
