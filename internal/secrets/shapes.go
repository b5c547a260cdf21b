package secrets

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// shape is a value that begins with words of its own, which its vendor gave it
// so that it can be found.
type shape struct {
	prefix   string
	kind     string
	body     set  // what follows
	min, max int  // length of what follows; max 0: any
	solid    bool // what follows must not be words
}

//go:embed shapes.json
var shapesJSON []byte

// shapes are those of shapes.json, which the owner's page goes by too: prefix, kind,
// set, min, max, solid. They are sorted by their first byte, and then the longer
// prefixes come first. The lengths are those that vendors document or that are in use,
// with some room below where they vary.
var shapes = sync.OnceValue(func() []shape {
	sets := map[string]set{"digit": digit, "hex": hex, "upper": upper, "bech": bech, "alnum": alnum, "word": word, "dotted": dotted, "base64": base64, "url": url}
	var rows [][6]any
	if err := json.Unmarshal(shapesJSON, &rows); err != nil {
		panic(err) // it is part of the program
	}
	all := make([]shape, len(rows))
	for i, r := range rows {
		all[i] = shape{prefix: r[0].(string), kind: r[1].(string), body: sets[r[2].(string)], min: int(r[3].(float64)), max: int(r[4].(float64)), solid: r[5].(bool)}
	}
	return all
})
