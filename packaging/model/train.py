"""Rows of a matrix whose weighted mean over a sentence's pieces is the teacher's vector of it."""
import collections
import hashlib
import random
import struct

import numpy as np
import scipy.sparse as sp
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

DIMS, ROWS, MOST = 256, 33400, 64
RIDGE, STEPS = 0.05, 40
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


def train(pieces, added, alone, texts, targets, told=print):
    """alone: the teacher's vectors of the pieces; targets: those of the texts."""
    tokens = wordpiece(pieces)
    unknown = pieces.index("[UNK]")
    ids = [[i for i in e.ids if i != unknown][:MOST] for e in tokens.encode_batch(texts, add_special_tokens=False)]
    rows = len(pieces)
    middle = targets.mean(0)
    _, _, axes = np.linalg.svd(targets[::7] - middle, full_matrices=False)
    axes = axes[:DIMS].T
    z = (targets - middle) @ axes
    count = np.bincount(np.fromiter((i for some in ids for i in some), np.int64), minlength=rows)
    share = (count + 1) / (count.sum() + rows)
    weight = (1e-3 / (1e-3 + share)).astype(np.float32)
    a = matrix(ids, weight, rows)
    # A start: what the teacher makes of each piece alone, in the scale of sentences.
    start = (alone - middle) @ axes
    start[[i for i, p in enumerate(pieces) if p in added]] = 0
    b = a @ start
    turn = np.linalg.solve(b.T @ b + 1e-2 * np.trace(b.T @ b) / DIMS * np.eye(DIMS, dtype=np.float32), b.T @ z)
    start = (start @ turn).astype(np.float32)
    told("cosine with the teacher at the start %.3f" % cosines(a @ start, z).mean())
    # What the start leaves is taken by rows near zero: least squares with a ridge, by conjugate gradients.
    at = a.T.tocsr()
    x = np.zeros((rows, DIMS), np.float32)
    r = at @ (z - a @ start)
    d = r.copy()
    size = (r * r).sum(0)
    for _ in range(STEPS):
        ad = at @ (a @ d) + np.float32(RIDGE) * d
        step = size / ((d * ad).sum(0) + 1e-12)
        x += step * d
        r -= step * ad
        now = (r * r).sum(0)
        d = r + now / (size + 1e-12) * d
        size = now
    out = start + x
    told("cosine with the teacher at the end %.3f" % cosines(a @ out, z).mean())
    return out * weight[:, None], ids


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
