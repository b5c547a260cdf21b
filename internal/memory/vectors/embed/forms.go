package embed

import "strings"

// forms is what some models want before a text, so that a query is compared with
// texts and not with questions; by what the model's name has in it.
var forms = []struct{ name, query, text string }{
	{"arctic-embed", "Represent this sentence for searching relevant passages: ", ""},
	{"bge-", "Represent this sentence for searching relevant passages: ", ""},
	{"e5-", "query: ", "passage: "},
	{"nomic-embed", "search_query: ", "search_document: "},
}

// Forms returns what a model wants before a query, and before a text that is
// searched.
func Forms(model string) (query, text string) {
	for _, f := range forms {
		if strings.Contains(strings.ToLower(model), f.name) {
			return f.query, f.text
		}
	}
	return "", ""
}
