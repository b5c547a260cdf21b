package wire

import (
	"strconv"

	"github.com/nbd-wtf/go-nostr"
)

// ParseFilters reads an array of filters, and nothing beside it: what POST
// /query and /count take. Each is read as by ParseFilter; none at all is an
// error, as in a REQ. Error texts have no prefix.
func ParseFilters(b []byte, lim Limits) ([]nostr.Filter, error) {
	s := newScanner(b)
	filters, err := s.filterArray(lim)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return filters, nil
}

// filterArray reads the array at the present byte.
func (s *scanner) filterArray(lim Limits) ([]nostr.Filter, error) {
	if s.peek() != '[' {
		return nil, reason("the body must be a JSON array of filters")
	}
	s.pos++
	filters, err := s.filterList(true, lim)
	if err == nil && len(filters) == 0 {
		err = reason("the array holds no filter")
	}
	return filters, err
}

// filterList reads filters up to the end of an array, of which the next element is
// the first or not.
func (s *scanner) filterList(first bool, lim Limits) (filters []nostr.Filter, err error) {
	for ; ; first = false {
		ok, err := s.element(first)
		if err != nil || !ok {
			return filters, err
		}
		if lim.Filters > 0 && len(filters) == lim.Filters {
			return nil, reason("too many filters (at most " + strconv.Itoa(lim.Filters) + ")")
		}
		filter, err := s.filter(lim)
		if err != nil {
			return nil, err
		}
		filters = append(filters, filter)
	}
}
