// Package embed asks a model server what texts mean, in numbers: vectors of
// texts (/v1/embeddings of OpenAI's form, which llama.cpp, Ollama and vLLM
// serve), and how well texts answer a query (/v1/rerank).
//
// How a server is asked, and which one may be, is internal/memory/model's. What it
// says is bounded and checked.
package embed

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"engramd/internal/memory/model"
)

// Client is an Embedder that asks a server.
type Client struct {
	*model.Server
	dim atomic.Int64
}

var _ Embedder = (*Client)(nil)

// New returns a Client for an embeddings endpoint. It asks nothing yet. Errors
// are ErrURL and ErrPlaintext.
func New(o Options) (*Client, error) {
	s, err := model.Open(o, "/embeddings")
	if err != nil {
		return nil, err
	}
	return &Client{Server: s}, nil
}

// Name returns the model's name.
func (c *Client) Name() string { return c.Model }

// Dim returns the length of the model's vectors; 0 before the first answer.
func (c *Client) Dim() int { return int(c.dim.Load()) }

// Embed asks for the vectors of texts, MaxBatch of them at a time. Errors are
// ErrFailed and ErrAnswer, and that of the context.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), MaxBatch)
		some, err := c.batch(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		all, texts = append(all, some...), texts[n:]
	}
	return all, nil
}

func (c *Client) batch(ctx context.Context, texts []string) ([][]float32, error) {
	in := struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}{c.Model, bounded(texts), "float"}
	var out struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := c.Post(ctx, in, &out); err != nil {
		return nil, err
	}
	if len(out.Data) != len(texts) {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", model.ErrAnswer, len(out.Data), len(texts))
	}
	all := make([][]float32, len(texts))
	for i, d := range out.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(all) || all[at] != nil {
			return nil, fmt.Errorf("%w: its vectors are not numbered by the texts", model.ErrAnswer)
		}
		if err := c.check(d.Embedding); err != nil {
			return nil, err
		}
		all[at] = d.Embedding
	}
	return all, nil
}

// check refuses what is no vector, or of another length than those before.
func (c *Client) check(v []float32) error {
	if len(v) == 0 || len(v) > MaxDim {
		return fmt.Errorf("%w: a vector of %d numbers", model.ErrAnswer, len(v))
	}
	if !c.dim.CompareAndSwap(0, int64(len(v))) && c.dim.Load() != int64(len(v)) {
		return fmt.Errorf("%w: vectors of %d and of %d numbers", model.ErrAnswer, c.dim.Load(), len(v))
	}
	length := 0.0
	for _, f := range v {
		length += float64(f) * float64(f)
	}
	if math.IsNaN(length) || math.IsInf(length, 0) || length == 0 {
		return fmt.Errorf("%w: a vector that says nothing", model.ErrAnswer)
	}
	return nil
}

// bounded cuts texts that are too long for a model.
func bounded(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		if out[i] = t; len(t) > MaxText {
			end := MaxText
			for end > 0 && !utf8.RuneStart(t[end]) {
				end--
			}
			out[i] = t[:end]
		}
	}
	return out
}

// Reranker asks a server how well texts answer a query.
type Reranker struct{ *model.Server }

// NewReranker returns a Reranker. It asks nothing yet.
func NewReranker(o Options) (*Reranker, error) {
	s, err := model.Open(o, "/rerank")
	if err != nil {
		return nil, err
	}
	return &Reranker{s}, nil
}

// Score returns a score for each text, in their order; higher is better. Errors
// are those of Client.Embed.
func (r *Reranker) Score(ctx context.Context, query string, texts []string) ([]float64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > MaxBatch {
		return nil, fmt.Errorf("%w: %d texts at once", model.ErrAnswer, len(texts))
	}
	in := struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
		TopN      int      `json:"top_n"`
	}{r.Model, bounded([]string{query})[0], bounded(texts), len(texts)}
	var out struct {
		Results []struct {
			Index *int     `json:"index"`
			Score *float64 `json:"relevance_score"`
		} `json:"results"`
	}
	if err := r.Post(ctx, in, &out); err != nil {
		return nil, err
	}
	scores, seen := make([]float64, len(texts)), make([]bool, len(texts))
	if len(out.Results) != len(texts) {
		return nil, fmt.Errorf("%w: %d scores for %d texts", model.ErrAnswer, len(out.Results), len(texts))
	}
	for _, one := range out.Results {
		if one.Index == nil || one.Score == nil || *one.Index < 0 || *one.Index >= len(texts) || seen[*one.Index] {
			return nil, fmt.Errorf("%w: its scores are not numbered by the texts", model.ErrAnswer)
		}
		scores[*one.Index], seen[*one.Index] = *one.Score, true
	}
	return scores, nil
}

// forms is what some models want before a text, so that a query is compared with
// texts and not with questions; by what the model's name has in it.
var forms = []struct{ name, query, text string }{
	{"arctic-embed", "Represent this sentence for searching relevant passages: ", ""},
	{"bge-", "Represent this sentence for searching relevant passages: ", ""},
	{"e5-", "query: ", "passage: "},
	{"nomic-embed", "search_query: ", "search_document: "},
}

// Forms returns what a model wants before a query, and before a text that is
// searched.
func Forms(model string) (query, text string) {
	for _, f := range forms {
		if strings.Contains(strings.ToLower(model), f.name) {
			return f.query, f.text
		}
	}
	return "", ""
}

// Embedder makes vectors of texts.
type Embedder interface {
	// Name is the model's: vectors of one name can be compared.
	Name() string
	// Dim is how many numbers a vector has; 0 before the first answer.
	Dim() int
	// Embed returns a vector for each text, in their order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Bounds of one request and its answer.
const (
	MaxBatch = 32       // texts in one request
	MaxText  = 32 << 10 // bytes of one text; the rest is not sent
	MaxDim   = 8192
)

// Options say which server is asked, and how.
type Options = model.Options
