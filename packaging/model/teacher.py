"""The teacher, all-MiniLM-L6-v2 in int8, run by onnxruntime: vectors of sentences, of length 1."""
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

WIDTH = 384


class Teacher:
    def __init__(self, model, tokenizer):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.tokens = Tokenizer.from_str(tokenizer.decode())
        self.tokens.no_padding()
        self.tokens.enable_truncation(96)

    def forward(self, ids):
        """The vectors of sentences that have the same number of tokens."""
        last = self.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids),
                                       "token_type_ids": np.zeros_like(ids)})[0]
        mean = last.mean(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def vectors(self, texts):
        """Sentences of one length go together, so that nothing is padded."""
        ids = [e.ids for e in self.tokens.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: (len(ids[i]), i))
        out = np.zeros((len(texts), WIDTH), np.float32)
        at = 0
        while at < len(order):
            length, end = len(ids[order[at]]), at
            while end < len(order) and end - at < 32 and len(ids[order[end]]) == length:
                end += 1
            some = order[at:end]
            out[some] = self.forward(np.array([ids[i] for i in some], np.int64))
            at = end
        return out
