package management

import (
	"encoding/json"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// Filters are NIP-01 filters from an operator's command line, one for each
// --filter, parsed as strictly as those of clients. They are passed on as they
// were written: encoders leave out an empty list, which matches nothing, and
// the rest would match more.
type Filters struct {
	list  []nostr.Filter
	texts []json.RawMessage
}

// maxFilters is how many filters one command may have.
const maxFilters = 100

// String implements flag.Value.
func (f *Filters) String() string { return "" }

// Set reads one filter.
func (f *Filters) Set(text string) error {
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
func (f *Filters) MarshalJSON() ([]byte, error) { return json.Marshal(f.texts) }

// UnmarshalJSON reads filters from the control socket, as strictly.
func (f *Filters) UnmarshalJSON(b []byte) error {
	var texts []json.RawMessage
	if err := json.Unmarshal(b, &texts); err != nil {
		return err
	}
	*f = Filters{}
	for _, text := range texts {
		if err := f.Set(string(text)); err != nil {
			return err
		}
	}
	return nil
}

// Named returns an error if a filter has no conditions: that is more likely an
// empty variable than meant.
func (f *Filters) Named() error {
	if len(f.list) == 0 {
		return errors.New(`--filter is missing, such as --filter '{"kinds":[1],"until":1700000000}'`)
	}
	for _, filter := range f.list {
		if filter.IDs == nil && filter.Kinds == nil && filter.Authors == nil && filter.Since == nil && filter.Until == nil && len(filter.Tags) == 0 {
			return errors.New("--filter: an empty filter matches everything; name kinds, authors, ids, tags or times")
		}
	}
	return nil
}

// List returns the filters.
func (f *Filters) List() []nostr.Filter { return f.list }
