package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/cmd/engram-load/internal/recalled"
)

// recallOptions are the flags of `engram-load recall`.
type recallOptions struct {
	data        []string
	synthetic   int
	seed        uint64
	recipe      bool
	weights     bool
	misses      bool
	every       int
	long, small bool
	forget      bool
	json        bool

	embed                string
	embedURL, embedModel string
	plaintext            bool
}

// recallCommand is `engram-load recall`.
func (m *Main) recallCommand() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:   "recall (--data FILE... | --synthetic N)",
		Short: "Measure what a memory finds, returns and tells",
		Long: "recall asks the questions of sets of their memories. It prints what is found (the ranking), returned (what\n" +
			"memory_recall answers) and told (what the hook at a prompt tells), beside the search, BM25, SQLite FTS5 and\n" +
			"meaning alone, and the processor time of a question. No relay is needed.\n" +
			"A set is a file in LoCoMo's form (snap-research/LoCoMo) or in the labelled form that docs/engram-load.md\n" +
			"describes, or one that is made here, of facts, updates, dates, distractors and typos.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return m.recall(c.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.data, "data", nil, "a file with a set; may be given several times")
	flags.IntVar(&o.synthetic, "synthetic", 0, "make a set with this many subjects, 1 to 2000, instead")
	flags.Uint64Var(&o.seed, "seed", 1, "of the set that is made, and of the collections of --small")
	flags.BoolVar(&o.recipe, "recipe", false, "found, returned and told alone; with --embed-url, the model alone too")
	flags.BoolVar(&o.weights, "weights", false, "instead: what is found and returned without each weight, over all sets")
	flags.BoolVar(&o.misses, "misses", false, "print each question that goes wrong to standard error, for found, returned and told")
	flags.IntVar(&o.every, "every", 1, "ask only every Nth question of each memory")
	flags.BoolVar(&o.long, "long", false, "put talk before each question: sets for each length of it")
	flags.BoolVar(&o.small, "small", false, "draw collections of 1, 2, 4 and 10 memories: sets for each size")
	flags.BoolVar(&o.forget, "forget", false, "instead: what is still found when ways of forgetting keep 75, 50 and 25 % of the tokens")
	flags.BoolVar(&o.json, "json", false, "one JSON object instead of the tables")
	flags.StringVar(&o.embed, "embed", "matrix", "what compares meaning: matrix, the built-in one, or none")
	flags.StringVar(&o.embedURL, "embed-url", "", "an embeddings endpoint in OpenAI's form, whose model is measured in place of the built-in one; a key for it is in ENGRAM_EMBED_KEY")
	flags.StringVar(&o.embedModel, "embed-model", "", "its model")
	flags.BoolVar(&o.plaintext, "send-plaintext", false, "the endpoint may be on another machine, by https: it reads the set")
	return cmd
}

func (m *Main) recall(ctx context.Context, o recallOptions) error {
	sets, err := o.sets()
	if err != nil {
		return err
	}
	if o.forget {
		for _, set := range sets {
			if err := m.forget(set, o.json); err != nil {
				return err
			}
		}
		return nil
	}
	if o.weights {
		return m.weights(ctx, o, sets)
	}
	sizes := make([]measure.Sizes, len(sets))
	for i, set := range sets {
		if sizes[i], err = measure.SizeOf(set, processorTime); err != nil {
			return err
		}
	}
	model, err := o.meaning(ctx, sets)
	if err != nil {
		return err
	}
	ways := recalled.Ways(model.meaning())
	if o.recipe {
		ways = recalled.Own(model.meaning())
	}
	if o.misses {
		for i := range recalled.Own(nil) {
			ways[i] = recalled.Misses(m.Stderr, ways[i])
		}
	}
	if model != nil && (!o.recipe || o.embedURL != "") {
		ways = append(ways, measure.Nearest("meaning alone", model.near))
	}
	all, err := recalled.Run(ctx, sets, ways, processorTime)
	if err == nil && model != nil {
		err = model.err
	}
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(m.Stdout).Encode(struct {
			Sizes   []measure.Sizes   `json:"sizes"`
			Figures []recalled.Result `json:"figures"`
		}{sizes, all})
	}
	for i, set := range sets {
		fmt.Fprintf(m.Stdout, "%s: %s\n\n", set.Name, sizes[i])
	}
	return recalled.Print(m.Stdout, all)
}

// weights prints what is left without each weight.
func (m *Main) weights(ctx context.Context, o recallOptions, sets []*measure.Set) error {
	model, err := o.meaning(ctx, sets)
	if err != nil {
		return err
	}
	all, err := recalled.Offs(ctx, sets, model.meaning(), processorTime)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(m.Stdout).Encode(all)
	}
	return recalled.PrintOffs(m.Stdout, sets, all)
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

// sets reads or makes the sets that are asked for.
func (o *recallOptions) sets() ([]*measure.Set, error) {
	switch {
	case (len(o.data) == 0) == (o.synthetic == 0):
		return nil, usageError{errors.New("give either --data or --synthetic")}
	case o.synthetic < 0 || o.synthetic > measure.MaxSubjects:
		return nil, usageError{fmt.Errorf("--synthetic is %d; 1 to %d make a set", o.synthetic, measure.MaxSubjects)}
	case o.long && o.small:
		return nil, usageError{errors.New("give either --long or --small")}
	case o.every < 1:
		return nil, usageError{fmt.Errorf("--every is %d; 1 asks every question", o.every)}
	}
	var sets []*measure.Set
	if o.synthetic > 0 {
		sets = append(sets, measure.Synthetic(o.synthetic, o.seed))
	}
	for _, path := range o.data {
		set, err := readSet(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		sets = append(sets, set)
	}
	if sets = recalled.Share(sets); len(sets) == 0 {
		return nil, usageError{errors.New("no file of --data has a memory")}
	}
	var varied []*measure.Set
	for _, set := range sets {
		if o.every > 1 {
			set = recalled.Every(set, o.every)
		}
		switch {
		case o.long:
			varied = append(varied, recalled.Long(set)...)
		case o.small:
			varied = append(varied, recalled.Small(set, o.seed)...)
		default:
			varied = append(varied, set)
		}
	}
	return varied, nil
}

func readSet(path string) (*measure.Set, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	set, err := measure.Read(filepath.Base(path), file)
	if err != nil {
		return nil, err
	}
	measure.AskForeign(set)
	return set, nil
}
