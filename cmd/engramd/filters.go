package main

import (
	"encoding/json"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/wire"
)

// filterFlags are filters of NIP-01, each from one use of --filter, read as strictly as those of clients. They are passed on
// as they were written: encoders leave out an empty list, which matches nothing, and what is left would match more.
type filterFlags struct {
	list  []nostr.Filter
	texts []json.RawMessage
}

// maxFilters is how many filters one command takes.
const maxFilters = 100

// String is for package flag.
func (f *filterFlags) String() string { return "" }

// Set reads one filter.
func (f *filterFlags) Set(text string) error {
	if len(f.list) == maxFilters {
		return errors.New("too many filters")
	}
	filter, err := wire.ParseFilter([]byte(text), wire.Limits{})
	switch {
	case err != nil:
		return err
	case filter.Search != "":
		return errors.New(`"search" is not taken here: nothing is ranked`)
	case filter.Limit != 0 || filter.LimitZero:
		return errors.New(`"limit" is not taken here: all that matches is meant`)
	}
	f.list, f.texts = append(f.list, filter), append(f.texts, json.RawMessage(text))
	return nil
}

// MarshalJSON writes the filters as they came.
func (f filterFlags) MarshalJSON() ([]byte, error) { return json.Marshal(f.texts) }

// UnmarshalJSON reads filters from the control socket, as strictly.
func (f *filterFlags) UnmarshalJSON(b []byte) error {
	var texts []json.RawMessage
	if err := json.Unmarshal(b, &texts); err != nil {
		return err
	}
	*f = filterFlags{}
	for _, text := range texts {
		if err := f.Set(string(text)); err != nil {
			return err
		}
	}
	return nil
}
