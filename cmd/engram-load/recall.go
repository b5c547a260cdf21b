package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"engramd/internal/recall/measure"
)

// recallOptions are the flags of `engram-load recall`.
type recallOptions struct {
	data      string
	synthetic int
	seed      uint64
	recipe    bool
	forget    bool
	json      bool

	embedURL, embedModel string
	plaintext            bool
}

// recallCommand is `engram-load recall`.
func (m *Main) recallCommand() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:   "recall (--data FILE | --synthetic N)",
		Short: "Measure how well memories are found again",
		Long: "recall asks the questions of a set of its memories, by the recipe that engramctl uses, by the recipe without\n" +
			"each of its weights, and by others, and prints how much of what answers them comes first, and what\n" +
			"processor time a question takes. No relay is needed.\n" +
			"A set is a file in LoCoMo's form (snap-research/LoCoMo), or one that is made here, of facts, updates, dates,\n" +
			"distractors and typos.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return m.recall(c.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.data, "data", "", "a file in LoCoMo's form")
	flags.IntVar(&o.synthetic, "synthetic", 0, "make a set with this many subjects, 1 to 2000, instead")
	flags.Uint64Var(&o.seed, "seed", 1, "of the set that is made")
	flags.BoolVar(&o.recipe, "recipe", false, "the recipe alone, without what each weight brings")
	flags.BoolVar(&o.forget, "forget", false, "instead: what is still found when ways of forgetting keep 75, 50 and 25 % of the tokens")
	flags.BoolVar(&o.json, "json", false, "one JSON object instead of the tables")
	flags.StringVar(&o.embedURL, "embed-url", "", "an embeddings endpoint in OpenAI's form, whose model is measured beside the recipe; a key for it is in ENGRAM_EMBED_KEY")
	flags.StringVar(&o.embedModel, "embed-model", "", "its model")
	flags.BoolVar(&o.plaintext, "send-plaintext", false, "the endpoint may be on another machine, by https: it reads the set")
	return cmd
}

func (m *Main) recall(ctx context.Context, o recallOptions) error {
	set, err := o.set()
	if err != nil {
		return err
	}
	if o.forget {
		return m.forget(set, o.json)
	}
	sizes, err := measure.SizeOf(set, processorTime)
	if err != nil {
		return err
	}
	configs := measure.Configs()
	if o.recipe {
		configs = configs[:1]
	}
	model, err := o.meaning(ctx, set)
	if err != nil {
		return err
	}
	var meaning measure.Meaning
	if model != nil {
		meaning = model.near
		configs = slices.Insert(configs, 1, measure.WithModel(o.embedModel, meaning)...)
	}
	all := make([]measure.Figures, len(configs))
	for i, c := range configs {
		if all[i], err = measure.Run(set, c, processorTime); err != nil {
			return err
		}
	}
	fits, err := measure.Fits(set, meaning)
	if err == nil && model != nil {
		err = model.err
	}
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(m.Stdout)
		return enc.Encode(struct {
			Set     string            `json:"set"`
			Sizes   measure.Sizes     `json:"sizes"`
			Figures []measure.Figures `json:"figures"`
			Fits    measure.Threshold `json:"fits"`
		}{set.Name, sizes, all, fits})
	}
	fmt.Fprintf(m.Stdout, "%s: %s\n\n", set.Name, sizes)
	if err := measure.Print(m.Stdout, all); err != nil {
		return err
	}
	_, err = fmt.Fprintf(m.Stdout, "\n%s\n", fits)
	return err
}

// forget prints what ways of forgetting leave.
func (m *Main) forget(set *measure.Set, asJSON bool) error {
	f, err := measure.Forget(set)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(m.Stdout).Encode(struct {
			Set string `json:"set"`
			measure.Forgotten
		}{set.Name, f})
	}
	fmt.Fprintf(m.Stdout, "%s: ", set.Name)
	return f.Print(m.Stdout)
}

// processorTime is a clock that goes while this process computes, so that other
// programs beside it do not count.
func processorTime() time.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return time.Now()
	}
	return time.Unix(ts.Unix())
}

// set reads or makes the set that is asked for.
func (o *recallOptions) set() (*measure.Set, error) {
	switch {
	case (o.data == "") == (o.synthetic == 0):
		return nil, usageError{errors.New("give either --data or --synthetic")}
	case o.synthetic < 0 || o.synthetic > measure.MaxSubjects:
		return nil, usageError{fmt.Errorf("--synthetic is %d; 1 to %d make a set", o.synthetic, measure.MaxSubjects)}
	case o.synthetic > 0:
		return measure.Synthetic(o.synthetic, o.seed), nil
	}
	file, err := os.Open(o.data)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	set, err := measure.ReadLoCoMo(filepath.Base(o.data), file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.data, err)
	}
	return set, nil
}
