package answer

import (
	"context"
	"fmt"

	"engramd/internal/memory/quote"
)

// Word is what the owner says of a memory in a proposal that the agent has not answered.
// The zero Word is none.
type Word struct {
	ID       string // of the proposal's event
	Base     string // hash of the text that it is about
	Text     string // "" withholds the memory
	External bool   // the text is somebody else's words, corrected
}

// Withholds reports whether the owner has the memory told no more.
func (w Word) Withholds() bool { return w.ID != "" && w.Text == "" }

// Beneath is what stands under the text of the memory: whole lines, "" for nothing.
func (w Word) Beneath() string {
	if w.Text == "" {
		return ""
	}
	return fmt.Sprintf("your owner says (proposal %.8s):\n%s", w.ID, quote.Text(w.Text, w.External))
}

// Heard lays over a source what the owner says of its memories: words has of slugs what
// makes a Word of the text that stands there.
func Heard(s Source, words func(context.Context) map[string]func(text string) Word) Source {
	return &heardSource{s, words}
}

type heardSource struct {
	below Source
	words func(context.Context) map[string]func(text string) Word
}

type heardView struct {
	View
	words map[string]Word
}

func (h *heardSource) Read(ctx context.Context, do func(View) error) error {
	words := h.words(ctx)
	return h.below.Read(ctx, func(v View) error {
		heard := heardView{v, map[string]Word{}}
		for slug, says := range words {
			if text, ok := v.Text(slug); ok {
				if w := says(text); w.ID != "" {
					heard.words[slug] = w
				}
			}
		}
		return do(heard)
	})
}

// WordsOf returns what the owner says, by slug.
func WordsOf(v View) map[string]Word {
	heard, _ := v.(heardView)
	return heard.words
}
