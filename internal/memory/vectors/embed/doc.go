// Package embed asks a model server what texts mean, in numbers: vectors of
// texts (/v1/embeddings of OpenAI's form, which llama.cpp, Ollama and vLLM
// serve), and how well texts answer a query (/v1/rerank).
//
// How a server is asked, and which one may be, is internal/memory/model's. What it
// says is bounded and checked.
package embed

import (
	"context"

	"engramd/internal/memory/model"
)

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

// What asking fails with: see internal/memory/model.
var (
	ErrURL       = model.ErrURL
	ErrPlaintext = model.ErrPlaintext
	ErrFailed    = model.ErrFailed
	ErrRefused   = model.ErrRefused
	ErrAnswer    = model.ErrAnswer
)

// Options say which server is asked, and how.
type Options = model.Options
