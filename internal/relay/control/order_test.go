package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/relay/control"
	"engramd/internal/relay/ingest/ingesttest"
	"engramd/internal/relay/store"
)

type bakeArgs struct {
	Name   string `json:"name,omitempty"`
	Loaves int    `json:"loaves,omitempty"`
}

// TestOrders: an order gets its arguments and its result comes back; an error
// arrives in the order's own words, and an unknown order is reported as another
// version's.
func TestOrders(t *testing.T) {
	w := ingesttest.Open(t, store.Live{})
	listen(t, w, nil,
		control.NewOrder("bake", func(_ context.Context, args bakeArgs) (any, error) {
			if args.Loaves < 0 {
				return nil, errors.New("there are no loaves below zero")
			}
			return args, nil
		}),
		control.NewOrder("rest", func(context.Context, struct{}) (any, error) { return struct{}{}, nil }))
	for _, c := range []struct {
		name, command string
		args          any
		want, wrong   string
	}{
		{"with arguments", "bake", bakeArgs{"rye", 2}, `{"name":"rye","loaves":2}`, ""},
		{"with arguments that are left out", "bake", bakeArgs{}, `{}`, ""},
		{"without arguments", "rest", nil, `{}`, ""},
		{"that fails", "bake", bakeArgs{Loaves: -1}, "", "there are no loaves below zero"},
		{"with arguments of another version", "bake", map[string]any{"loaves": "two"}, "", "this daemon does not know the command: it is another version than yours"},
		{"that nobody carries out", "brew", nil, "", "this daemon does not know the command: it is another version than yours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := control.Ask(t.Context(), w.Dir, c.command, c.args, nil)
			if string(got) != c.want || (err == nil) != (c.wrong == "") || err != nil && err.Error() != c.wrong {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// TestOrdersTell: a caller that listens gets the order's messages in sequence
// before the result; one that does not gets the result alone.
func TestOrdersTell(t *testing.T) {
	w := ingesttest.Open(t, store.Live{})
	listen(t, w, nil, control.NewTellingOrder("bake", func(_ context.Context, args bakeArgs, tell func(any)) (any, error) {
		for n := range args.Loaves {
			tell(n)
		}
		if args.Name == "" {
			return nil, errors.New("of what")
		}
		return args, nil
	}))
	for _, args := range []bakeArgs{{"rye", 3}, {"", 2}, {"rye", 0}} {
		var heard []string
		got, err := control.Ask(t.Context(), w.Dir, "bake", args, func(told json.RawMessage) { heard = append(heard, string(told)) })
		if (err == nil) != (args.Name != "") || (err == nil) != (len(got) > 0) || strings.Join(heard, " ") != strings.TrimSpace("0 1 2"[:max(0, 2*args.Loaves-1)]) {
			t.Errorf("%+v: %s, %v, heard %v", args, got, err, heard)
		}
		deaf, err := control.Ask(t.Context(), w.Dir, "bake", args, nil)
		if string(deaf) != string(got) || (err == nil) != (args.Name != "") {
			t.Errorf("%+v, unheard: %s, %v", args, deaf, err)
		}
	}
}

// TestTheFirstLine: commands of other versions send the same first line.
func TestTheFirstLine(t *testing.T) {
	w := ingesttest.Open(t, store.Live{})
	listen(t, w, nil, control.NewOrder("bake", func(_ context.Context, args bakeArgs) (any, error) { return args, nil }))
	for line, want := range map[string]string{
		`{"command":"bake","name":"rye","unknown":[1]}`: `{"done":{"result":{"name":"rye"}}}` + "\n",
		`{"name":"rye","command":"bake"}`:               `{"done":{"result":{"name":"rye"}}}` + "\n",
	} {
		conn, err := net.Dial("unix", filepath.Join(w.Dir, control.Name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", line, got, err)
		}
		conn.Close()
	}
}

// TestAnOrderEndsWithItsCommand: the daemon learns that the command is gone.
func TestAnOrderEndsWithItsCommand(t *testing.T) {
	w := ingesttest.Open(t, store.Live{})
	began, ended := make(chan struct{}), make(chan struct{})
	listen(t, w, nil, control.NewOrder("wait", func(ctx context.Context, _ json.RawMessage) (any, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-began
		cancel(errors.New("ended by a signal"))
	}()
	if _, err := control.Ask(ctx, w.Dir, "wait", nil, nil); err == nil || err.Error() != "ended by a signal" {
		t.Errorf("the command: %v", err)
	}
	<-ended
}

// TestNobodyListens: the error differs from a daemon's refusal.
func TestNobodyListens(t *testing.T) {
	_, err := control.Ask(t.Context(), t.TempDir(), "rest", nil, nil)
	if unreachable := new(control.UnreachableError); !errors.As(err, &unreachable) {
		t.Errorf("%v", err)
	}
}
