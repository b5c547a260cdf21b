package work

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/cluster/verify"
)

// callHeader signs a call that manages any of the nodes.
func (w *World) callHeader(body []byte) string {
	return relaytest.HTTPAuthWith(w.Manager, http.MethodPost, "http://"+w.Name+"/", body, time.Now().Unix(), nostr.Tag{"nonce", w.Text()})
}

func call(method string, params ...any) []byte {
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		panic(err) // texts only
	}
	return body
}

var managing = http.Client{Timeout: 25 * time.Second}

// manage makes a call of NIP-86 at a node.
func (w *World) manage(node int, header string, body []byte) (verify.Outcome, string) {
	request, err := http.NewRequest(http.MethodPost, "http"+strings.TrimPrefix(w.URL(node), "ws")+"/", bytes.NewReader(body))
	if err != nil {
		return verify.Unknown, err.Error()
	}
	request.Header.Set("Authorization", header)
	request.Header.Set("Content-Type", "application/nostr+json+rpc")
	response, err := managing.Do(request)
	if err != nil {
		return verify.Unknown, err.Error()
	}
	defer response.Body.Close()
	var answer struct {
		Result any    `json:"result"`
		Error  string `json:"error"`
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	switch {
	case err != nil || response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests || strings.HasPrefix(answer.Error, "error:"):
		return verify.Unknown, answer.Error
	case answer.Error != "" || response.StatusCode != http.StatusOK:
		return verify.Refused, answer.Error
	}
	return verify.Stored, ""
}

// Manage makes a call at a node under a header of its own.
func (w *World) Manage(node int, method string, params ...any) (verify.Outcome, string) {
	body := call(method, params...)
	return w.manage(node, w.callHeader(body), body)
}

// bans bans a key at one node while it writes at the others.
func (w *World) bans(a *verify.Actor) {
	k, at := w.key(), a.Any()
	end, done := make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(done)
		began := time.Now()
		outcome, why := w.Manage(at, "banpubkey", k.PubKey(), "a test")
		switch outcome {
		case verify.Stored:
			w.Count("bans")
			end <- time.Now()
			return
		case verify.Refused:
			w.Broken("a ban after %v is refused: %s", time.Since(began), why)
		}
		w.Count("bans, unknown")
		close(end)
	}()
	var banned time.Time
	for over := 0; over < 4; {
		node := a.Other(at)
		wrote := w.Publish(a.Conn(node), w.NoteOf(k))
		if !banned.IsZero() && wrote.Outcome == verify.Stored && wrote.Start.After(banned) {
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
		if a.Ctx.Err() != nil {
			break
		}
	}
	<-done
	a.Pause(20 * w.Pace)
}

// UsedHeaders makes the same signed call at two nodes at once.
func (w *World) UsedHeaders(a *verify.Actor) {
	body := call("banpubkey", w.key().PubKey(), "used twice")
	header, one := w.callHeader(body), a.Any()
	other, done := a.Other(one), make(chan verify.Outcome, 1)
	go func() {
		y, _ := w.manage(other, header, body)
		done <- y
	}()
	x, _ := w.manage(one, header, body)
	w.Winners("a header at two nodes", x, <-done)
	a.Pause(20 * w.Pace)
}
