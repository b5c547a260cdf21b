"""nostr-sdk (rust-nostr) and engramd become equal by NIP-77: open events, and an
agent's own memory after AUTH; a stranger gets none of it."""
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import unittest
from datetime import timedelta
from pathlib import Path

import nostr_sdk as sdk
from nostr_sdk import nostr_sdk as bindings

# The binding drops futures from other threads, which Python reports each time.
sys.unraisablehook = lambda _: None

BIN = Path(os.environ.get("INTEROP_BIN") or Path(__file__).resolve().parents[2] / "bin")
ENGRAM = 30174


class Relay:
    """A relay on a free port, with its data in a new folder."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="engramd-interop-")
        env = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM")}
        self.process = subprocess.Popen(
            [BIN / "engramd", "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
             "--data", Path(self.folder.name) / "data"], stderr=subprocess.PIPE, text=True, env=env)
        for line in self.process.stderr:
            found = re.search(r'\bready\b.*\burl="?(ws://[^\s"]+)', line)
            if found:
                self.url = sdk.RelayUrl.parse(found.group(1))
                return self
        raise RuntimeError("engramd did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait()
        self.process.stderr.close()
        self.folder.cleanup()


async def client(relay, keys=None):
    """A client with an empty database, which has proved its keys."""
    builder = sdk.ClientBuilder().database(await sdk.NostrLmdb.open(tempfile.mkdtemp(dir=relay.folder.name)))
    if keys:
        builder = builder.authenticator(sdk.SignerAuthenticator(keys))
    c = builder.build()
    await c.add_relay(relay.url)
    await c.connect(and_wait=timedelta(seconds=20))
    if keys:  # sync does not wait for AUTH, and is refused before it; a REQ does
        await c.fetch_events(sdk.ReqTarget.auto([memory_of(keys).until(sdk.Timestamp.from_secs(1))]))
    return c


def memory_of(keys):
    return sdk.Filter().kind(sdk.Kind(ENGRAM)).author(keys.public_key())


def note(keys, n):
    return sdk.EventBuilder(sdk.Kind(1), f"note {n}").custom_created_at(sdk.Timestamp.from_secs(1_700_000_000 + n // 3)).finalize(keys)


def engram(agent, owner, n):
    sealed = sdk.nip44_encrypt(agent.secret_key(), owner.public_key(), f'{{"slug":"mem/{n}","value":"x"}}', sdk.Nip44Version.V2)
    tags = [sdk.Tag.parse(["d", f"{n:064x}"]), sdk.Tag.parse(["p", owner.public_key().to_hex()])]
    return sdk.EventBuilder(sdk.Kind(ENGRAM), sealed).tags(tags).custom_created_at(sdk.Timestamp.from_secs(1_700_000_000 + n)).finalize(agent)


async def sync(c, filter):
    """What failed, and how many events were received and sent."""
    out = await c.sync(filter, opts=sdk.SyncOptions().direction(sdk.SyncDirection.BOTH))
    return out.failed, len(out.report.received), len(out.report.sent)


class Sync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        bindings.uniffi_set_event_loop(asyncio.get_running_loop())
        self.relay = self.enterContext(Relay())

    async def test_open_events_both_ways(self):
        keys = sdk.Keys.generate()
        c, fresh = await client(self.relay), await client(self.relay)
        for n in range(1200):
            event = note(keys, n)
            if n % 12:
                await c.send_event(event, ack_policy=sdk.AckPolicy.none())
            if n % 15:
                await fresh.database().save_event(event)
        await c.send_event(note(keys, 1200))  # answered behind all others
        filter = sdk.Filter().kind(sdk.Kind(1)).author(keys.public_key())
        self.assertEqual(await sync(fresh, filter), ({}, 61, 80))
        self.assertEqual(await sync(fresh, filter), ({}, 0, 0))
        first = filter.until(sdk.Timestamp.from_secs(1_700_000_000))
        self.assertEqual(await sync(await client(self.relay), first), ({}, 2, 0))

    async def test_an_agents_memory_after_auth(self):
        agent, owner, stranger = sdk.Keys.generate(), sdk.Keys.generate(), sdk.Keys.generate()
        c = await client(self.relay, agent)
        for n in range(40):
            await c.send_event(engram(agent, owner, n))
        about = sdk.Filter().kind(sdk.Kind(ENGRAM)).pubkey(owner.public_key())
        self.assertEqual(await sync(await client(self.relay, agent), memory_of(agent)), ({}, 40, 0))
        self.assertEqual(await sync(await client(self.relay, owner), about), ({}, 40, 0))
        for who, prefix in ((stranger, "restricted: "), (None, "auth-required: ")):
            failed, *found = await sync(await client(self.relay, who), memory_of(agent))
            self.assertEqual(found, [0, 0])
            self.assertIn(prefix, list(failed.values())[0])


if __name__ == "__main__":
    unittest.main()
