package bridge

import (
	"encoding/json"
	"net/http"
)

const infoType = "application/nostr+json"

// info serves the relay information document (NIP-11).
func (h *Handler) info(w http.ResponseWriter, r *http.Request) {
	doc, err := infoDocument(h.relay, r)
	if err != nil {
		h.log.Error("information document", "err", err)
		writeError(w, http.StatusInternalServerError, "error: the document could not be encoded")
		return
	}
	hdr := w.Header()
	allowCORS(hdr)
	hdr.Set("Vary", "Accept")
	hdr.Set("Cache-Control", "no-cache")
	writeJSON(w, http.StatusOK, infoType, doc)
}

// infoDocument drops what the relay does not say. go-nostr's type writes empty
// texts, and created_at_lower_limit 0, which would claim that no event of the
// past is accepted.
func infoDocument(relay Relay, r *http.Request) (map[string]any, error) {
	text, err := json.Marshal(relay.Info(r))
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for name, v := range doc {
		if v == "" {
			delete(doc, name)
		}
	}
	if limits, ok := doc["limitation"].(map[string]any); ok && limits["created_at_lower_limit"] == 0.0 {
		delete(limits, "created_at_lower_limit")
	}
	return doc, nil
}
