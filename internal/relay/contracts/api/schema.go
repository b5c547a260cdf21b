package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"engramd/internal/relay/contracts"
	"engramd/nips/niptemp"
)

// object is a piece of the document.
type object = map[string]any

// schemas makes JSON Schemas of Go types as encoding/json writes them, each
// struct once, under its name.
type schemas struct {
	made object
}

// of returns the schema of a type, or a reference to it. In requests every
// member that may be left out may also be null; see optional.
func (s *schemas) of(t reflect.Type, request bool) object {
	switch {
	case t == typeOf[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == typeOf[json.RawMessage]():
		return object{"$ref": "#/components/schemas/Event"}
	case t == typeOf[niptemp.Status]():
		statuses := niptemp.Statuses()
		if !request { // "" for a contract of which only entries are known
			statuses = append(statuses, "")
		}
		return object{"type": "string", "enum": statuses}
	case t == typeOf[contracts.Visibility]():
		return object{"type": "string", "enum": []contracts.Visibility{contracts.Shared, contracts.PosterOnly, contracts.WorkerOnly}}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem(), request)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), request)}
	case reflect.Pointer:
		return nullable(s.of(t.Elem(), request))
	}
	name := nameOf(t)
	if s.made[name] == nil {
		s.made[name] = true // a type within itself refers to what is being made
		s.made[name] = s.structure(t, request)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func nameOf(t reflect.Type) string {
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

func nullable(schema object) object {
	return object{"anyOf": []object{schema, {"type": "null"}}}
}

// optional returns the schema of a member of a request that may be left out:
// null means the same, and so does an empty text.
func optional(t reflect.Type, schema object) object {
	switch t.Kind() {
	case reflect.Pointer: // is nullable
		return schema
	case reflect.String:
		return object{"anyOf": []object{schema, {"type": "null"}, {"enum": []string{""}}}}
	}
	return nullable(schema)
}

func (s *schemas) structure(t reflect.Type, request bool) object {
	properties, required := object{}, []string{}
	s.members(t, request, properties, &required)
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// members adds the members of a struct, those of embedded ones too.
func (s *schemas) members(t reflect.Type, request bool, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			s.members(f.Type, request, properties, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		schema := s.of(f.Type, request)
		target := schema
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.String {
			target = schema["anyOf"].([]object)[0]
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.String {
			target = schema["items"].(object)
		}
		for key, value := range facts[name] {
			if !request || key != "readOnly" {
				target[key] = value
			}
		}
		if strings.Contains(options, "omitempty") || request && name == "amount_sats" { // 0 without it
			if request {
				schema = optional(f.Type, schema)
			}
		} else {
			*required = append(*required, name)
		}
		properties[name] = schema
	}
}

// facts holds what Go types do not say about members. It is the same wherever a
// member occurs.
var facts = map[string]object{
	"entry_id":           {"pattern": "^mem_[0-9a-f]{12}$"},
	"contract_id":        {"pattern": "^[!-~]{1,128}$", "description": "of contracts created here: a UUID v4"},
	"pubkey":             {"pattern": "^[0-9a-f]{64}$"},
	"poster_pubkey":      {"pattern": "^[0-9a-f]{64}$"},
	"worker_pubkey":      {"pattern": "^[0-9a-f]{64}$"},
	"nostr_event_id":     {"pattern": "^[0-9a-f]{64}$"},
	"npub":               {"pattern": "^npub1[02-9ac-hj-np-z]{58}$"},
	"author_npub":        {"pattern": "^npub1[02-9ac-hj-np-z]{58}$"},
	"poster_npub":        {"pattern": "^npub1[02-9ac-hj-np-z]{58}$"},
	"worker_npub":        {"pattern": "^npub1[02-9ac-hj-np-z]{58}$"},
	"arbitrator_npub":    {"pattern": "^npub1[02-9ac-hj-np-z]{58}$"},
	"nsec":               {"pattern": "^nsec1[02-9ac-hj-np-z]{58}$"},
	"type":               {"enum": niptemp.EntryTypes()},
	"by":                 {"enum": []string{"operator", "arbitrator", "deadline"}},
	"moved_by":           {"enum": []string{"poster", "worker", "operator", "arbitrator", "deadline"}, "description": "who made the move: operator is also the decider, deadline the expirer; of what has no event, the relay's word"},
	"attachments":        {"format": "uri", "description": "an absolute http or https URL"},
	"received_at":        {"description": "when the relay got it, beside created_at, which is its author's word"},
	"after":              {"pattern": "^([0-9]+-([0-9a-f]{12}|[0-9a-f]{64})|m[0-9]+)$", "description": "next of the answer before"},
	"next":               {"pattern": "^([0-9]+-([0-9a-f]{12}|[0-9a-f]{64})|m[0-9]+)$", "description": "there is more to look at: the same request with this as after goes on; limit, offset and total are of what one call found"},
	"limit":              {"maximum": maxLimit},
	"offset":             {"maximum": maxOffset},
	"agent_id":           {"minLength": 1, "maxLength": maxAgent},
	"amount_sats":        {"maximum": int64(1<<53 - 1)},
	"requester_agent_id": {"description": "the caller's own agent id"},
	"author_agent_id":    {"description": "the caller's own agent id"},
}

// event returns the schema of a signed Nostr event.
func event() object {
	hex := func(n string) object { return object{"type": "string", "pattern": "^[0-9a-f]{" + n + "}$"} }
	return object{
		"type": "object", "description": "a signed Nostr event (NIP-01)",
		"required": []string{"id", "pubkey", "created_at", "kind", "tags", "content", "sig"},
		"properties": object{
			"id": hex("64"), "pubkey": hex("64"), "sig": hex("128"), "created_at": object{"type": "integer"},
			"kind": object{"type": "integer"}, "content": object{"type": "string"},
			"tags": object{"type": "array", "items": object{"type": "array", "items": object{"type": "string"}}},
		},
	}
}
