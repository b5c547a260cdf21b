#!/usr/bin/env python3
"""Print the Authorization header (NIP-98) of one HTTP request, or sign an event.

    nip98.py METHOD URL [BODYFILE]     the header for a request, with the body's hash
    nip98.py event KIND [BODYFILE] [NAME=VALUE ...]   a signed event as JSON; the file is its content

The secret key is 64 hex digits in the file that NOSTR_KEY_FILE names. Nothing
but Python's standard library is needed. The arithmetic is not hardened against
somebody who measures its time on the same machine: it shows how a header is
made, and serves for trying things out.
"""
import base64
import hashlib
import json
import os
import sys
import time

# secp256k1 and BIP-340.
P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and a[1] != b[1]:
        return None
    if a == b:
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P) % P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(point, n):
    sum_ = None
    while n:
        if n & 1:
            sum_ = add(sum_, point)
        point, n = add(point, point), n >> 1
    return sum_


def tagged(tag, data):
    name = hashlib.sha256(tag.encode()).digest()
    return hashlib.sha256(name + name + data).digest()


def schnorr(message, secret):
    public = multiply(G, secret)
    d = secret if public[1] % 2 == 0 else N - secret
    px = public[0].to_bytes(32, "big")
    masked = d ^ int.from_bytes(tagged("BIP0340/aux", os.urandom(32)), "big")
    k = int.from_bytes(tagged("BIP0340/nonce", masked.to_bytes(32, "big") + px + message), "big") % N
    r = multiply(G, k)
    k = k if r[1] % 2 == 0 else N - k
    rx = r[0].to_bytes(32, "big")
    e = int.from_bytes(tagged("BIP0340/challenge", rx + px + message), "big") % N
    return rx + ((k + e * d) % N).to_bytes(32, "big")


def sign(kind, tags, content=""):
    with open(os.environ["NOSTR_KEY_FILE"]) as file:
        secret = int(file.read().strip(), 16)
    event = {"pubkey": multiply(G, secret)[0].to_bytes(32, "big").hex(), "created_at": int(time.time()),
             "kind": kind, "tags": tags, "content": content}
    # NIP-01: the id is the hash of this array, written without white space.
    array = [0, event["pubkey"], event["created_at"], kind, tags, content]
    identity = hashlib.sha256(json.dumps(array, separators=(",", ":"), ensure_ascii=False).encode()).digest()
    return {"id": identity.hex(), **event, "sig": schnorr(identity, secret).hex()}


def main(args):
    if len(args) > 1 and args[0] == "event":
        tags = [a.split("=", 1) for a in args[2:] if "=" in a]
        files = [a for a in args[2:] if "=" not in a]
        content = open(files[0], encoding="utf-8").read() if files else ""
        print(json.dumps(sign(int(args[1]), tags, content), separators=(",", ":"), ensure_ascii=False))
        return
    if len(args) not in (2, 3):
        sys.exit(__doc__)
    tags = [["u", args[1]], ["method", args[0]]]
    if len(args) == 3:
        with open(args[2], "rb") as file:
            tags.append(["payload", hashlib.sha256(file.read()).hexdigest()])
    header = base64.b64encode(json.dumps(sign(27235, tags)).encode()).decode()
    print("Authorization: Nostr " + header)


main(sys.argv[1:])
