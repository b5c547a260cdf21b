// Package aside knows which tools of an MCP server are not listed, and by which that are
// listed they are called.
//
// Each tool that is listed stands in the context of every session. So those that are
// seldom needed are not: an argument of one that is listed says which of them is meant.
package aside

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
)

// Tools that stand for others.
const (
	Write    = "memory_write"
	More     = "memory_more"
	Proposal = "memory_proposal"
	Commit   = "mind_commit"
)

// Aside is a tool that is listed as a value of an argument of another one.
type Aside struct {
	Tool, By, With, Value string
	Takes                 string // the arguments that models are told of, under any name that each has
	Says                  string // what for, where By does nothing else
}

// All are in the order in which a model reads them.
var All = []Aside{
	{"memory_append", Write, "mode", "append", "slug, text, base, allow_secret", ""},
	{"mind_undo", Commit, "undo", "true", "plan, force", ""},
	{"memory_accept", Proposal, "action", "accept", "id", ""},
	{"memory_reject", Proposal, "action", "reject", "id, reason", ""},
	{"memory_history", More, "action", "history", "slug", "versions"},
	{"memory_restore", More, "action", "restore", "slug, id", "one of them"},
	{"memory_rename", More, "action", "rename", "slug, to, mend_links", ""},
	{"memory_link", More, "action", "link", "slug, to, as", "as supports, supersedes, derived_from, contradicts, causes, inspired_by, related_to"},
	{"memory_stats", More, "action", "stats", "", ""},
	{"memory_proposals", More, "action", "proposals", "id", "of others"},
	{"memory_intend", More, "action", "intend", "text, due, every, until, trigger", "later: due tomorrow 9:00, every P1D, or at prompts about trigger"},
	{"memory_done", More, "action", "done", "slug, as, until", "done, snooze, cancel"},
	{"memory_feedback", More, "action", "feedback", "slug, as", "useful, wrong"},
	{"memory_why", More, "action", "why", "id, prompt", "what session id was told"},
	{"memory_snapshot", More, "action", "snapshot", "", "before a risky change"},
	{"mind_prepare", More, "action", "prepare", "", "a plan for mind_commit"},
	{"mind_dream", More, "action", "dream", "", "another"},
}

// seldom are arguments that a tool takes, and is not listed with.
var seldom = map[string][]string{
	"memory_edit":   {"base", "allow_secret"},
	"memory_note":   {"expires"},
	"memory_read":   {"max_bytes"},
	"memory_recall": {"budget_bytes", "types", "tags", "until", "emotion", "min_trust", "states", "detail"},
	"memory_search": {"tags", "since"},
	Write:           {"salience", "allow_placeholder", "allow_secret"},
}

// Own are the tools by which an agent reads and writes its own memory, and which a person
// may let it use unasked. What others propose is taken over by Proposal, and what was
// thought is carried out by Commit.
var Own = []string{"memory_delete", "memory_edit", "memory_list", More, "memory_note", "memory_read", "memory_recall", "memory_search", Write}

// AtOnce are the tools that a client which looks tools up shows all the same.
var AtOnce = []string{"memory_note", "memory_recall", Write}

// Is reports whether a tool is not listed by itself.
func Is(tool string) bool {
	return slices.ContainsFunc(All, func(a Aside) bool { return a.Tool == tool })
}

// Set are those that one tool stands for.
type Set []Aside

// Of are those that a tool stands for where there are others.
func Of(by string, has func(tool string) bool) (all Set) {
	for _, a := range All {
		if a.By == by && has(a.Tool) {
			all = append(all, a)
		}
	}
	return all
}

func (a Aside) arguments() []string {
	return strings.FieldsFunc(a.Takes, func(r rune) bool { return r == ',' || r == ' ' })
}

// Ways say what they are, in few words.
func (s Set) Ways() string {
	var all []string
	for _, a := range s {
		way := a.Value
		if a.Takes != "" {
			way += " (" + a.Takes + ")"
		}
		if a.Says != "" {
			way += ": " + a.Says
		}
		all = append(all, way)
	}
	return strings.Join(all, "; ")
}

// Schema is the input schema of a tool that does nothing but stand for them. named says
// that its description names the values.
func (s Set) Schema(named bool) map[string]any {
	var values []string
	required, properties := []string{s[0].With}, map[string]any{}
	for _, a := range s {
		values = append(values, a.Value)
		for _, argument := range a.arguments() {
			properties[argument] = map[string]any{"type": map[bool]string{true: "boolean", false: "string"}[argument == "mend_links"]}
			if !slices.Contains(required, argument) && !slices.ContainsFunc(s, func(a Aside) bool { return !slices.Contains(a.arguments(), argument) }) {
				required = append(required, argument)
			}
		}
	}
	which := map[string]any{"type": "string"}
	if !named {
		which["enum"] = values
	}
	properties[s[0].With] = which
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// Meant returns which one the arguments of a call mean, and its own arguments. What it
// does not take is left out where it says nothing: some models fill in every argument.
func (s Set) Meant(arguments json.RawMessage, takes func(tool string) []string) (Aside, json.RawMessage, bool) {
	var given map[string]json.RawMessage
	if len(s) == 0 || json.Unmarshal(arguments, &given) != nil {
		return Aside{}, nil, false
	}
	value := strings.ToLower(strings.Trim(string(given[s[0].With]), `" `))
	at := slices.IndexFunc(s, func(a Aside) bool { return value == a.Value || value == a.Tool })
	if at < 0 {
		return Aside{}, nil, false
	}
	delete(given, s[at].With)
	own := append(takes(s[at].Tool), s[at].arguments()...)
	maps.DeleteFunc(given, func(name string, value json.RawMessage) bool {
		return !slices.Contains(own, name) && slices.Contains([]string{`""`, "false", "null", "[]"}, string(value))
	})
	rest, err := json.Marshal(given)
	return s[at], rest, err == nil
}

var (
	orNull  = pattern.Later(`"type":\["null",("[a-z]+")\]`) // the type of what may also be null
	notMore = pattern.Later(`"additionalProperties":false,|,"additionalProperties":false`)
	// feelings are the properties of an emotion: some APIs take no object without any.
	feelings = []byte(`"properties":{"` + strings.Join(frontmatter.Emotions[:], `":{"type":"number"},"`) + `":{"type":"number"}}`)
)

// Schema is a tool's input schema without that there are no other arguments, and that
// some may be null: each call is held to the one, null counts as left out (aliased), and
// both would stand in every context once for each tool. Without each it is without what is
// seldom too.
func Schema(tool string, schema any, each bool) (json.RawMessage, error) {
	var in struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required,omitempty"`
	}
	text, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		return nil, err
	}
	if !each {
		for _, name := range seldom[tool] {
			delete(in.Properties, name)
		}
	}
	text, err = json.Marshal(in)
	text = bytes.ReplaceAll(text, []byte(`"additionalProperties":{"type":"number"}`), feelings)
	return orNull().ReplaceAll(notMore().ReplaceAll(text, nil), []byte(`"type":$1`)), err
}
