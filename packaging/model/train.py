"""Rows of a matrix whose weighted mean over a sentence's pieces is the teacher's vector of it."""
import collections
import hashlib
import random
import struct

import numpy as np
import scipy.sparse as sp
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

DIMS, ROWS, MOST = 256, 33400, 64
RARE, RIDGE, STEPS = 1e-3, 0.3, 25
FREE, HOLD = 0.5, 30  # the ridge of translations, and how much English holds a row
MAGIC, FORM = b"ENGRAMW1", 1


def wordpiece(pieces):
    """BERT's tokenizer of lower case with these pieces."""
    tokens = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]", max_input_chars_per_word=100))
    tokens.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokens.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokens


def vocabulary(base, foreign):
    """BERT's list with the places that it leaves free, and more at the end, given to what other
    languages need: characters that it lacks, then words that it takes apart, the commonest first."""
    tokens = wordpiece(base)
    have, characters, words = set(base), collections.Counter(), collections.Counter()
    for lang, text in foreign:
        for word, _ in tokens.pre_tokenizer.pre_tokenize_str(tokens.normalizer.normalize_str(text)):
            words[word] += 1
            characters.update(c for c in word)
    more = [c for c, n in sorted(characters.items(), key=lambda x: (-x[1], x[0])) if c not in have and n >= 3 and c.isalpha()]
    gain = []
    for word, n in words.items():
        if n >= 8 and len(word) > 2 and word not in have and word.isalpha():
            cut = tokens.encode(word, add_special_tokens=False).ids
            if len(cut) > 1 or cut == [base.index("[UNK]")]:
                gain.append((-n, word))
    free = [i for i, p in enumerate(base) if p.startswith("[unused")]
    room = len(free) + ROWS - len(base)
    more = more[:room // 2]
    more += [w for _, w in sorted(gain) if w not in set(more)][:room - len(more)]
    pieces = list(base)
    for i, piece in zip(free, more):
        pieces[i] = piece
    pieces += more[len(free):]
    return pieces, set(more)


def matrix(ids, weight, rows):
    """Sentences as rows: what of each piece is in their mean."""
    row, column, value = [], [], []
    for k, some in enumerate(ids):
        if some:
            w = weight[some]
            row += [k] * len(some)
            column += some
            value.append(w / w.sum())
    return sp.csr_matrix((np.concatenate(value), (row, column)), shape=(len(ids), rows), dtype=np.float32)


def cosines(x, y):
    return (x * y).sum(1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1) + 1e-9)


def shares(ids, rows):
    count = np.bincount(np.fromiter((i for some in ids for i in some), np.int64), minlength=rows)
    return (count + 1) / (count.sum() + rows)


def near_zero(a, left, ridge, steps):
    """The x for which a @ x is nearest to what is left: least squares with a ridge, by conjugate gradients."""
    at = a.T.tocsr()
    x = np.zeros((a.shape[1], left.shape[1]), np.float32)
    r = at @ left
    d = r.copy()
    size = (r * r).sum(0)
    for _ in range(steps):
        ad = at @ (a @ d) + ridge * d
        step = size / ((d * ad).sum(0) + 1e-12)
        x += step * d
        r -= step * ad
        now = (r * r).sum(0)
        d = r + now / (size + 1e-12) * d
        size = now
    return x


def train(pieces, added, alone, texts, targets, english, told=print):
    """alone: the teacher's vectors of the pieces; targets: those of the texts, the first of which are English."""
    tokens = wordpiece(pieces)
    unknown = pieces.index("[UNK]")
    ids = [[i for i in e.ids if i != unknown][:MOST] for e in tokens.encode_batch(texts, add_special_tokens=False)]
    rows = len(pieces)
    middle = targets[:english].mean(0)
    spread = targets[:english] - middle
    _, axes = np.linalg.eigh(spread.T @ spread)
    axes = np.ascontiguousarray(axes[:, ::-1][:, :DIMS])
    z = (targets - middle) @ axes
    share = np.maximum(shares(ids[:english], rows), shares(ids[english:], rows))
    weight = (RARE / (RARE + share)).astype(np.float32)
    # A start: what the teacher makes of each piece alone, turned so that means of it are nearest.
    a, z1 = matrix(ids[:english], weight, rows), z[:english]
    x = (alone - middle) @ axes
    x[[i for i, p in enumerate(pieces) if p in added]] = 0
    b = a @ x
    turn = np.linalg.solve(b.T @ b + 1e-2 * np.trace(b.T @ b) / DIMS * np.eye(DIMS, dtype=np.float32), b.T @ z1)
    x = (x @ turn).astype(np.float32)
    told("cosine with the teacher: at the start %.3f" % cosines(a @ x, z1).mean(), flush=True)
    x += near_zero(a, z1 - a @ x, np.float32(RIDGE), STEPS)
    told("after English %.3f" % cosines(a @ x, z1).mean(), flush=True)
    # Translations move a piece the less, the more of it there is in English.
    used = np.asarray(a.multiply(a).sum(0)).ravel()
    b, z2 = matrix(ids[english:], weight, rows), z[english:]
    x += near_zero(b, z2 - b @ x, (FREE + HOLD * used).astype(np.float32)[:, None], STEPS)
    told("at the end %.3f, of translations %.3f" % (cosines(a @ x, z1).mean(), cosines(b @ x, z2).mean()), flush=True)
    return x * weight[:, None], ids


def pack(rows, ids, listed):
    """The file: a head, a scale for each row, the rows in steps of a 127th of their largest number."""
    scale = np.abs(rows).max(1) / 127
    scale[scale == 0] = 1
    steps = np.rint(rows / scale[:, None]).astype(np.int8)
    scale = scale.astype(np.float32)
    rows = steps * scale[:, None]
    some = [i for i in ids if len(i) > 2]
    random.Random(7).shuffle(some)
    some = some[:4000]
    v = np.array([rows[i].sum(0) for i in some])
    v /= np.linalg.norm(v, axis=1, keepdims=True) + 1e-9
    c = (v[:2000] * v[2000:4000]).sum(1)
    body = scale.astype("<f4").tobytes() + steps.tobytes()
    head = struct.pack("<8s3I2f", MAGIC, FORM, *rows.shape, c.mean(), c.std())
    return head + hashlib.sha256(body + listed).digest()[:8] + body, c.mean(), c.std()
