package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"engramd/internal/relay/management"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// notes is a store in memory that keeps the last line.
type notes struct {
	line  store.AdminCall
	lines int
}

func (n *notes) Administer(_ context.Context, _ *store.AdminEntry, line store.AdminCall) error {
	n.line, n.lines = line, n.lines+1
	return nil
}

func (n *notes) AdminLists(context.Context) ([]store.AdminEntry, error) { return nil, nil }

// FuzzCall: whatever comes is answered by a result or by an Error, leaves one
// line (two of snapshots), and what the line keeps is JSON of what was
// understood.
func FuzzCall(f *testing.F) {
	for _, m := range management.Methods() {
		f.Add(`{"method":"` + m + `","params":["` + eventA + `","why"]}`)
		f.Add(`{"method":"` + m + `","params":[1]}`)
		f.Add(`{"method":"` + m + `","params":["192.0.2.0/24"]}`)
		f.Add(`{"method":"` + m + `","params":[{"agent":"` + eventA + `","id":"` + snapshotID + `"}]}`)
	}
	f.Add(`{"method":"changerelayname","params":["\ud800"]}`)
	f.Add(strings.Repeat("[", 20000))
	f.Fuzz(func(t *testing.T, body string) {
		n := &notes{}
		s, err := management.New(t.Context(), management.Options{Store: n, Snapshots: &fakeSnapshots{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Configure(management.Config{}, func(management.Rules) (func(), error) { return func() {}, nil }); err != nil {
			t.Fatal(err)
		}
		result, err := s.Do(t.Context(), management.Call{Key: manager, Auth: eventA, Addr: home, Body: []byte(body)})
		var e *nip01.Refusal
		if (err == nil) != (result != nil) || err != nil && !errors.As(err, &e) {
			t.Fatalf("result %v, error %v", result, err)
		}
		if n.lines < 1 || n.lines > 2 || len(n.line.Method) > 40 || err == nil && n.line.Params == nil {
			t.Fatalf("%d lines, the last %+v", n.lines, n.line)
		}
		if p := n.line.Params; p != nil && (!json.Valid([]byte(*p)) || len(*p) > 8*management.MaxBody) {
			t.Fatalf("params %q", *p)
		}
		if _, err := json.Marshal(result); err != nil {
			t.Fatal(err)
		}
	})
}
