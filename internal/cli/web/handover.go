package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/setup"
)

const (
	// ticketTime is how long a ticket may be used.
	ticketTime = time.Minute
	// mostWrong is how many tickets may be guessed before all are void.
	mostWrong = 10
	// codeChars are those of a code, of 32 letters and digits.
	codeChars = 8
)

// handover gives the page the owner's encrypted key, once, for a ticket: the token in
// the file that the browser opens, or the code that a person types.
type handover struct {
	Encrypted string            `json:"ncryptsec"`
	Agent     string            `json:"agent,omitempty"` // of the profile, hex
	Names     map[string]string `json:"names"`           // what agents are called on this machine, by their keys

	now     func() time.Time
	used    chan struct{} // closed once it is handed over
	mu      sync.Mutex
	tickets map[string]time.Time // and until when
	wrong   int
}

// handoverOf finds the owner's encrypted key of the profile in use; nil if there is
// none here.
func handoverOf(ctx context.Context, env *cliutil.Env, s settings.Settings) (*handover, error) {
	config, file, err := env.Profiles()
	if err != nil {
		return nil, err
	}
	name := env.ProfileName(file)
	p := file.Profiles[name]
	path, h := settings.OwnerKeyFile(config, name), &handover{Agent: s.Agent, Names: map[string]string{}, now: time.Now, used: make(chan struct{}), tickets: map[string]time.Time{}}
	if p.Agent != "" {
		path = p.KeyFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(config), path)
		}
	} else if owner, err := settings.PublicKey("owner", name, p.Owner); err != nil || owner == "" || owner != s.Owner {
		return nil, err
	}
	if !setup.IsThere(path) {
		return nil, nil
	}
	text, err := settings.ReadPrivate("the owner's key", path)
	if err != nil {
		return nil, err
	}
	if _, h.Encrypted, err = settings.ParseSecret(text); err != nil || h.Encrypted == "" {
		return nil, nil // one in plain text is never handed over
	}
	for other, p := range file.Profiles {
		if p.KeyStore == settings.StoreKeychain && other != name {
			continue // the system may ask for each
		}
		if key := publicKey(setup.KeyOf(ctx, env, other, p)); key != "" && p.Agent == "" && publicKey(p.Owner) == s.Owner {
			if p.Name != "" {
				h.Names[key] = p.Name
			}
			if other == name {
				h.Agent = key
			}
		}
	}
	return h, nil
}

// publicKey reads a public key, "" for none.
func publicKey(text string) string {
	key, err := settings.PublicKey("", "", text)
	if err != nil {
		return ""
	}
	return key
}

// token makes a ticket for a file.
func (h *handover) token() string { return h.admit(rand.Text()) }

// code makes a ticket that a person types.
func (h *handover) code() string { return h.admit(rand.Text()[:codeChars]) }

func (h *handover) admit(ticket string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tickets != nil { // none was used
		h.tickets[ticket] = h.now().Add(ticketTime)
	}
	return ticket
}

// take uses a ticket up, and all others with it.
func (h *handover) take(ticket string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	good := 0
	for t, until := range h.tickets {
		if h.now().Before(until) {
			good |= subtle.ConstantTimeCompare([]byte(t), []byte(ticket))
		}
	}
	if good == 0 {
		h.wrong++
	}
	if good == 1 || h.wrong >= mostWrong {
		clear(h.tickets)
	}
	if good == 1 {
		h.tickets = nil
		close(h.used)
	}
	return good == 1
}

// ServeHTTP answers the page. No other page may ask, and none may read the answer.
func (h *handover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hdr := w.Header()
	hdr.Set("Content-Type", "application/json")
	hdr.Set("Cache-Control", "no-store")
	hdr.Set("X-Content-Type-Options", "nosniff")
	hdr.Set("Cross-Origin-Resource-Policy", "same-origin")
	refuse := func(status int, text string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":"`+text+"\"}\n") // a browser that has gone needs no answer
	}
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case r.Method != http.MethodPost:
		hdr.Set("Allow", "POST")
		refuse(http.StatusMethodNotAllowed, "invalid: this path takes POST")
		return
	case r.Header.Get("Origin") != "http://"+r.Host, site != "" && site != "same-origin", r.Header.Get("Content-Type") != "application/json":
		refuse(http.StatusForbidden, "restricted: only the page itself may ask")
		return
	}
	var asked struct {
		Ticket string `json:"ticket"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 256)).Decode(&asked); err != nil || !h.take(strings.ToUpper(asked.Ticket)) {
		refuse(http.StatusGone, "invalid: this was used before, is too old, or is none")
		return
	}
	_ = json.NewEncoder(w).Encode(h) // a browser that has gone needs no answer
}
