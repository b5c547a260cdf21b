package view

import (
	"cmp"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/model"
	"engramd/internal/memory/vectors/embed"
)

// ModelFlags name model servers, which are asked only if they are named.
type ModelFlags struct {
	embed                  string
	embedURL, embedModel   string
	rerankURL, rerankModel string
	plaintext              bool
}

// Add adds the flags to a command.
func (f *ModelFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.embed, "embed", "", "`what` compares meaning beside words: matrix, the built-in one and the default, or none (embed in a profile)")
	c.Flags().StringVar(&f.embedURL, "embed-url", "", "`URL` of a model server that compares meaning in place of it (embed_url in a profile); its key is in ENGRAM_EMBED_KEY or in the file that ENGRAM_EMBED_KEY_FILE names")
	c.Flags().StringVar(&f.embedModel, "embed-model", "", "`name` of its model (embed_model in a profile)")
	c.Flags().StringVar(&f.rerankURL, "rerank-url", "", "`URL` of a model server that puts the best 20 in order (rerank_url in a profile); its key is in ENGRAM_RERANK_KEY or in the file that ENGRAM_RERANK_KEY_FILE names")
	c.Flags().StringVar(&f.rerankModel, "rerank-model", "", "`name` of its model (rerank_model in a profile)")
	c.Flags().BoolVar(&f.plaintext, "send-plaintext", false, "a model server may be on another machine, by https: it reads memories as plain text")
}

// Matrix reports whether the built-in matrix compares meaning: unless the profile or the
// flag says none.
func Matrix(env *cliutil.Env, flag string) (bool, error) {
	p, err := env.Profile()
	if err != nil {
		return false, exit.BadUsage(err)
	}
	by := cmp.Or(flag, p.Embed, "matrix")
	if by != "matrix" && by != "none" {
		return false, exit.Usagef("--embed is %q; it must be matrix or none (embed in a profile)", by)
	}
	return by == "matrix", nil
}

// OpenModels opens the servers that are named; the built-in model stands where none is.
func OpenModels(env *cliutil.Env, f ModelFlags) (m session.Models, err error) {
	p, err := env.Profile()
	if err != nil {
		return m, exit.BadUsage(err)
	}
	if m.Matrix, err = Matrix(env, f.embed); err != nil {
		return m, err
	}
	if url := cmp.Or(f.embedURL, p.EmbedURL); url != "" && f.embed == "" {
		o := embed.Options{URL: url, Model: cmp.Or(f.embedModel, p.EmbedModel), SendPlaintext: f.plaintext}
		if m.Embed, err = OpenModel(env, "embed", o, embed.New); err != nil {
			return m, err
		}
	}
	if url := cmp.Or(f.rerankURL, p.RerankURL); url != "" {
		o := embed.Options{URL: url, Model: cmp.Or(f.rerankModel, p.RerankModel), SendPlaintext: f.plaintext}
		r, err := OpenModel(env, "rerank", o, embed.NewReranker)
		if err != nil {
			return m, err
		}
		m.Rerank = r.Score
	}
	return m, nil
}

// OpenModel adds the key that the environment has for a server, and nothing of
// another's.
func OpenModel[T any](env *cliutil.Env, what string, o embed.Options, open func(embed.Options) (T, error)) (t T, err error) {
	name := "ENGRAM_" + strings.ToUpper(what) + "_KEY"
	o.Key = env.Vars[name]
	if file := env.Vars[name+"_FILE"]; file != "" {
		if o.Key != "" {
			return t, exit.Usagef("the environment has two keys for the model: unset %s or %s_FILE", name, name)
		}
		text, err := os.ReadFile(env.Path(file))
		if err != nil {
			return t, exit.Usagef("the model's key: %w", err)
		}
		o.Key = strings.TrimSpace(string(text))
	}
	t, err = open(o)
	if errors.Is(err, model.ErrPlaintext) {
		return t, exit.Usagef("--%s-url: %w: --send-plaintext allows that", what, err)
	}
	if err != nil {
		return t, exit.Usagef("--%s-url, --%s-model: %w", what, what, err)
	}
	return t, nil
}
