package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Replica is one relay that this one follows.
type Replica struct {
	URL      string
	Key      string // path of the file with the secret key that asks; "" is nobody
	Filter   string // JSON without white space; "" is everything
	Interval time.Duration
	Live     bool
}

// Defaults and bounds of a replica.
const (
	replicaEvery = time.Hour
	replicaMin   = time.Second
	replicaMax   = 30 * 24 * time.Hour
)

// replica takes "URL name=value …"; a value with spaces is quoted as in Go.
func replica() elem[Replica] {
	return elem[Replica]{one: "relay to follow", many: "tables with url, key, filter, interval and live",
		parse: parseReplica, format: formatReplica, toml: replicaText}
}

func parseReplica(text string) (Replica, error) {
	r := Replica{Interval: replicaEvery, Live: true}
	words, err := replicaWords(text)
	if err != nil {
		return r, err
	}
	given := map[string]bool{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		if given[name] {
			return r, fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
		if err := r.set(name, value); err != nil {
			return r, err
		}
	}
	if r.URL == "" {
		return r, errors.New("a relay to follow needs its url")
	}
	return r, nil
}

func (r *Replica) set(name, value string) (err error) {
	switch name {
	case "url":
		r.URL, err = relayURL().parse(value)
	case "key":
		if r.Key = value; value == "" || hexKey.MatchString(strings.ToLower(value)) || strings.HasPrefix(strings.ToLower(value), "nsec1") {
			return errors.New("key must be the path of a file, and never the key itself")
		}
	case "filter":
		r.Filter, err = compactObject(value)
	case "interval":
		r.Interval, err = duration(replicaMin, replicaMax).parse(value)
	case "live":
		r.Live, err = boolean().parse(value)
	default:
		return fmt.Errorf("%q is not one of url, key, filter, interval, live", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// compactObject takes a JSON object.
func compactObject(text string) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil || members == nil {
		return "", fmt.Errorf("%q is no JSON object", text)
	}
	for _, name := range []string{"limit", "search"} {
		if members[name] != nil {
			return "", fmt.Errorf("%s has no meaning here", name)
		}
	}
	compact, err := json.Marshal(members)
	if string(compact) == "{}" {
		return "", err
	}
	return string(compact), err
}

// replicaWords cuts "URL name=value …" into name=value.
func replicaWords(text string) (words []string, err error) {
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		name := "url"
		if end := strings.IndexAny(rest, "= \t"); end > 0 && rest[end] == '=' && !strings.Contains(rest[:end], ":") {
			name, rest = rest[:end], rest[end+1:]
		} else if len(words) > 0 {
			return nil, fmt.Errorf("%q is not NAME=VALUE", rest)
		}
		value := rest
		if strings.HasPrefix(rest, `"`) {
			quotedValue, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%s: a quote does not end", name)
			}
			if value, err = strconv.Unquote(quotedValue); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			rest = rest[len(quotedValue):]
		} else if end := strings.IndexAny(rest, " \t"); end >= 0 {
			value, rest = rest[:end], rest[end:]
		} else {
			rest = ""
		}
		words = append(words, name+"="+value)
	}
	return words, nil
}

// formatReplica writes an inline table.
func formatReplica(r Replica) string {
	parts := []string{"url = " + quoted(r.URL)}
	if r.Key != "" {
		parts = append(parts, "key = "+quoted(r.Key))
	}
	if r.Filter != "" {
		parts = append(parts, "filter = "+quoted(r.Filter))
	}
	return "{" + strings.Join(append(parts, "interval = "+quoted(r.Interval.String()), "live = "+strconv.FormatBool(r.Live)), ", ") + "}"
}

// replicaText makes of a table what parseReplica reads.
func replicaText(v any) (string, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return "", fmt.Errorf("want a table with url, key, filter, interval and live, have %s", tomlType(v))
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		var text string
		var err error
		if name == "live" {
			text, err = boolean().toml(table[name])
		} else {
			text, err = wantString("text")(table[name])
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		words = append(words, name+"="+strconv.Quote(text))
	}
	return strings.Join(words, " "), nil
}

// CheckReplica checks what was given beside the configuration, as if it stood
// in it.
func CheckReplica(r Replica) (Replica, error) {
	for name, value := range map[string]string{"url": r.URL, "key": r.Key, "filter": r.Filter} {
		if value == "" && name != "url" {
			continue
		}
		if err := r.set(name, value); err != nil {
			return r, err
		}
	}
	return r, nil
}
