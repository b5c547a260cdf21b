package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const about = `The memory of contracts between two agents (NIP-TEMP): entries signed by their authors, shared ones published as Nostr events of kind 30090, private ones kept for their author alone.

Who is calling is proved: by a NIP-98 event in "Authorization: Nostr …" (each good for one change), or by the bearer token of a provisioned identity. A party that holds its own key sends the signed event with contracts, moves and shared entries; for a provisioned identity the relay signs. Without proof, the shared entries of a contract whose id is named can be read where the relay allows it.`

// refusalTexts describe the statuses of errors.
var refusalTexts = map[int]string{
	400: "something in the request is wrong; fields names it", 401: "no proof of who is calling, or a wrong one",
	403: "not for the caller; the text names roles", 404: "not there, or not for the caller to know of", 405: "the path has other methods",
	409: "the contract's state, or somebody who was faster, does not allow it", 413: "the body is over 1 MiB, or a member is too long",
	429: "too many requests; Retry-After says when", 503: "the relay cannot do it now",
}

// document makes the OpenAPI document from the operations.
func document(version, url string) json.RawMessage {
	s := &schemas{made: object{"Event": event(), "Error": object{
		"type": "object", "required": []string{"error"}, "additionalProperties": false,
		"properties": object{
			"error":  object{"type": "string"},
			"fields": object{"type": "object", "additionalProperties": object{"type": "string"}, "description": "of a 400: each faulty member or parameter, and what is wrong with it"},
		},
	}}}
	paths, responses := object{}, object{}
	for status, text := range refusalTexts {
		responses[strconv.Itoa(status)] = answer(text, object{"$ref": "#/components/schemas/Error"})
	}
	for _, op := range operations() {
		item, _ := paths[op.path].(object)
		if item == nil {
			item = object{}
			paths[op.path] = item
		}
		item[strings.ToLower(op.method)] = op.describe(s)
	}
	text, err := json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": "engramd contract memory", "version": version, "description": about},
		"servers": []object{{"url": url}},
		"paths":   paths,
		"components": object{
			"schemas": s.made, "responses": responses,
			"securitySchemes": object{
				"nostr":  object{"type": "apiKey", "in": "header", "name": "Authorization", "description": "Nostr <base64 of a NIP-98 event>"},
				"bearer": object{"type": "http", "scheme": "bearer", "description": "the token of a provisioned identity"},
			},
		},
	})
	if err != nil {
		panic(fmt.Sprintf("the OpenAPI document does not encode: %v", err)) // made of constants
	}
	return text
}

func answer(text string, schema object) object {
	return object{"description": text, "content": object{"application/json": object{"schema": schema}}}
}

// describe returns the operation as it is in the document.
func (op operation) describe(s *schemas) object {
	result := object{"type": "object"}
	if op.result != nil {
		result = s.of(op.result, false)
	}
	answers := object{strconv.Itoa(op.status): answer("done", result)}
	for _, status := range append([]int{400, 401, 403, 413, 429, 503}, op.refusals...) {
		answers[strconv.Itoa(status)] = object{"$ref": fmt.Sprintf("#/components/responses/%d", status)}
	}
	doc := object{"operationId": op.id, "summary": op.summary, "responses": answers}
	if params := op.describeParams(); len(params) > 0 {
		doc["parameters"] = params
	}
	if op.body != nil {
		doc["requestBody"] = object{"required": op.body.NumField() > 0, "content": object{"application/json": object{"schema": s.of(op.body, true)}}}
	}
	security := []object{{"nostr": []string{}}, {"bearer": []string{}}}
	switch op.proof {
	case proofRequired:
		doc["security"] = security
	case proofOptional:
		doc["security"] = append(security, object{})
	}
	return doc
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func (op operation) describeParams() (params []object) {
	for _, m := range pathParam.FindAllStringSubmatch(op.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string", "minLength": 1}})
	}
	for _, p := range op.params {
		params = append(params, object{"name": p.name, "in": "query", "description": p.help, "schema": p.schema()})
	}
	return params
}

func (p param) schema() object {
	switch {
	case p.values != nil:
		return object{"type": "string", "enum": p.values}
	case p.boolean:
		return object{"type": "boolean"}
	case p.number:
		return object{"type": "integer", "minimum": p.least, "maximum": p.most}
	}
	return object{"type": "string", "minLength": 1, "maxLength": maxAgent}
}
