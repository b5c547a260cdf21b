package contracts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"engramd/internal/relay/store"
)

// privateText is the sealed content of a private entry's row.
type privateText struct {
	Content     string   `json:"content"`
	Attachments []string `json:"attachments,omitempty"`
}

// seal encrypts a private entry and binds it to its place: in another row, or
// with another author, time or type, it does not open.
func (s *Service) seal(contract string, row *store.ThreadEntry, content string, attachments []string) ([]byte, error) {
	text, err := json.Marshal(privateText{content, attachments})
	if err != nil {
		return nil, fmt.Errorf("private entry: %w", err)
	}
	return s.directory.sealer.Seal(text, PlaceOf(contract, row))
}

// unseal is the inverse of seal.
func (th *threads) unseal(contract string, row *store.ThreadEntry) (privateText, error) {
	var out privateText
	text, err := th.sealer.Open(row.Data, PlaceOf(contract, row))
	if err != nil {
		return out, fmt.Errorf("private entry: %w", err)
	}
	if json.Unmarshal(text, &out) != nil {
		return out, fmt.Errorf("private entry: the sealed text is not an entry") // no cause: it would quote the text
	}
	return out, nil
}

// PlaceOf returns the identity of a private entry's row. None of its parts
// contains a line feed.
func PlaceOf(contract string, row *store.ThreadEntry) []byte {
	return []byte(strings.Join([]string{
		"engramd private entry 1", contract, row.Author, row.Other, row.Entry, row.Type, strconv.FormatInt(row.CreatedAt, 10),
	}, "\n"))
}
