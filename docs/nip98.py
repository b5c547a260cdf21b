#!/usr/bin/env python3
"""Print the Authorization header (NIP-98) of one HTTP request, or sign an event.

    nip98.py METHOD URL [BODYFILE]     the header for a request, with the body's hash
    nip98.py event KIND [BODYFILE] [NAME=VALUE ...]   a signed event as JSON; the file is its content

The secret key is nsec1... or 64 hex digits, in the file that NOSTR_KEY_FILE names
or in the variable NOSTR_KEY. It is never taken from the command line and never
printed, whatever goes wrong. Nothing but Python's standard library is needed. The
arithmetic is not hardened against somebody who measures its time on the same
machine: it shows how a header is made, and serves for trying things out.
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


BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def polymod(values):
    check = 1
    for value in values:
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
        for i, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= generator if top >> i & 1 else 0
    return check


def checked(prefix, words):
    return [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + words


def nsec_of(secret):
    words = [secret << 4 >> 5 * i & 31 for i in reversed(range(52))]
    check = polymod(checked("nsec", words) + [0] * 6) ^ 1
    return "nsec1" + "".join(BECH32[w] for w in words + [check >> 5 * i & 31 for i in reversed(range(6))])


def from_nsec(text):
    """The number in an nsec (NIP-19), or None if a character is missing or mistyped."""
    words = [BECH32.find(c) for c in text[len("nsec1"):]]
    if len(words) != 58 or min(words) < 0 or polymod(checked("nsec", words)) != 1:
        return None
    number = 0
    for word in words[:52]:
        number = number << 5 | word
    return number >> 4


class Mistake(Exception):
    """What a person can mend. Its text repeats nothing that was given: it could be a key."""


def key_text():
    named, inline = os.environ.get("NOSTR_KEY_FILE"), os.environ.get("NOSTR_KEY")
    if bool(named) == bool(inline):
        raise Mistake("set NOSTR_KEY_FILE to a file with the secret key, or NOSTR_KEY to the key; one of them")
    if inline:
        return inline
    return read(named, "the file that NOSTR_KEY_FILE names", 4096).decode("ascii", "replace")


def secret_key():
    """The secret key as a number from 1 to N-1."""
    text = key_text().strip()
    low = text.lower()
    if low.startswith("npub1"):
        raise Mistake("this is a public key: the secret one begins with nsec1")
    if low.startswith("ncryptsec1"):
        raise Mistake("this key is encrypted: take one that is not, for trying things out")
    if low.startswith("nsec1"):
        secret = from_nsec(low) if text in (low, text.upper()) else None
        if secret is None:
            raise Mistake("this nsec is damaged: a character is missing or mistyped")
    elif len(low) == 64 and all(c in "0123456789abcdef" for c in low):
        secret = int(low, 16)
    else:
        raise Mistake("want one secret key and nothing else: nsec1... or 64 hex digits")
    if not 0 < secret < N:
        raise Mistake("this number is no secret key")
    return secret


def read(path, what, most=None):
    try:
        with open(path, "rb") as file:
            data = file.read() if most is None else file.read(most + 1)
    except (OSError, ValueError) as err:
        raise Mistake(what + " cannot be read: " + (getattr(err, "strerror", None) or "no such name")) from None
    if most is not None and len(data) > most:
        raise Mistake(what + " is larger than a key")
    return data


def sign(kind, tags, content=""):
    secret = secret_key()
    said = (content + json.dumps(tags)).lower()
    if "%064x" % secret in said or nsec_of(secret) in said:
        raise Mistake("the secret key itself is in what is to be signed")
    event = {"pubkey": multiply(G, secret)[0].to_bytes(32, "big").hex(), "created_at": int(time.time()),
             "kind": kind, "tags": tags, "content": content}
    # NIP-01: the id is the hash of this array, written without white space.
    array = [0, event["pubkey"], event["created_at"], kind, tags, content]
    text = json.dumps(array, separators=(",", ":"), ensure_ascii=False)
    try:
        identity = hashlib.sha256(text.encode()).digest()
    except UnicodeError:
        raise Mistake("an argument is not valid UTF-8") from None
    return {"id": identity.hex(), **event, "sig": schnorr(identity, secret).hex()}


def event(args):
    kind = args[0]
    if not (kind.isascii() and kind.isdigit() and len(kind) < 6 and int(kind) < 65536):
        raise Mistake("KIND must be a number from 0 to 65535")
    tags = [a.split("=", 1) for a in args[1:] if "=" in a]
    files = [a for a in args[1:] if "=" not in a]
    if len(files) > 1:
        raise Mistake("there is more than one BODYFILE; tags are written NAME=VALUE")
    content = read(files[0], "BODYFILE") if files else b""
    try:
        return json.dumps(sign(int(kind), tags, content.decode()), separators=(",", ":"), ensure_ascii=False)
    except UnicodeError:
        raise Mistake("BODYFILE is not valid UTF-8") from None


def header(args):
    tags = [["u", args[1]], ["method", args[0]]]
    if len(args) == 3:
        tags.append(["payload", hashlib.sha256(read(args[2], "BODYFILE")).hexdigest()])
    return "Authorization: Nostr " + base64.b64encode(json.dumps(sign(27235, tags)).encode()).decode()


def main(args):
    if any("nsec1" in a.lower() for a in args):
        raise Mistake("a secret key does not belong on the command line, where others see it: treat it as known to them")
    if len(args) > 1 and args[0] == "event":
        print(event(args[1:]))
    elif len(args) in (2, 3):
        print(header(args))
    else:
        raise Mistake(__doc__.strip())


if __name__ == "__main__":
    # No traceback: what an exception says may hold what it was made of.
    try:
        main(sys.argv[1:])
    except Mistake as mistake:
        sys.exit("nip98.py: " + str(mistake))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as err:
        sys.exit("nip98.py: failed: " + type(err).__name__)
