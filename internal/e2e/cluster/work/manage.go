package work

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// callHeader signs a call that manages any of the nodes.
func (w *World) callHeader(body []byte) string {
	return relaytest.HTTPAuthWith(w.Manager, http.MethodPost, "http://"+w.Name+"/", body, time.Now().Unix(), nostr.Tag{"nonce", w.text()})
}

func call(method string, params ...any) []byte {
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		panic(err) // texts only
	}
	return body
}

var client = http.Client{Timeout: patience}

// manage makes a call of NIP-86 at a node.
func (w *World) manage(node int, header string, body []byte) (Outcome, string) {
	request, err := http.NewRequest(http.MethodPost, "http"+strings.TrimPrefix(w.URL(node), "ws")+"/", bytes.NewReader(body))
	if err != nil {
		return Unknown, err.Error()
	}
	request.Header.Set("Authorization", header)
	request.Header.Set("Content-Type", "application/nostr+json+rpc")
	response, err := client.Do(request)
	if err != nil {
		return Unknown, err.Error()
	}
	defer response.Body.Close()
	var answer struct {
		Result any    `json:"result"`
		Error  string `json:"error"`
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	switch {
	case err != nil || response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests || strings.HasPrefix(answer.Error, "error:"):
		return Unknown, answer.Error
	case answer.Error != "" || response.StatusCode != http.StatusOK:
		return Refused, answer.Error
	}
	return Stored, ""
}

// Manage makes a call at a node under a header of its own.
func (w *World) Manage(node int, method string, params ...any) (Outcome, string) {
	body := call(method, params...)
	return w.manage(node, w.callHeader(body), body)
}

// bans bans a key at one node while it writes at the others.
func (w *World) bans(a *actor) {
	k, at := w.key(), a.any()
	end, done := make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(done)
		began := time.Now()
		outcome, why := w.Manage(at, "banpubkey", k.Pub, "a test")
		switch outcome {
		case Stored:
			w.Count("bans")
			end <- time.Now()
			return
		case Refused:
			w.Broken("a ban after %v is refused: %s", time.Since(began), why)
		}
		w.Count("bans, unknown")
		close(end)
	}()
	var banned time.Time
	for over := 0; over < 4; {
		node := a.other(at)
		wrote := w.Publish(a.conn(node), w.noteOf(k))
		if !banned.IsZero() && wrote.Outcome == Stored && wrote.Start.After(banned) {
			w.Broken("node %d took a note of a key that was banned at node %d %v before", node, at, wrote.Start.Sub(banned))
		}
		if !banned.IsZero() {
			over++
			continue
		}
		select {
		case t, known := <-end:
			if !known {
				over = 4
			}
			banned = t
		default:
		}
		if a.ctx.Err() != nil {
			break
		}
	}
	<-done
	a.pause(20 * w.Pace)
}

// usedHeaders makes the same signed call at two nodes at once.
func (w *World) usedHeaders(a *actor) {
	body := call("banpubkey", w.key().Pub, "used twice")
	header, one := w.callHeader(body), a.any()
	other, done := a.other(one), make(chan Outcome, 1)
	go func() {
		y, _ := w.manage(other, header, body)
		done <- y
	}()
	x, _ := w.manage(one, header, body)
	w.winners("a header at two nodes", x, <-done)
	a.pause(20 * w.Pace)
}
