package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// attack is one way to do harm.
type attack struct {
	name, what string
	short      bool // part of the short form
	arm        func(t target) (fight, error)
}

// attacks are all of them: those of the review that led to the limits, and what
// else the code seemed to invite.
func attacks() []attack {
	return []attack{
		{"scan", "REQs that look through 75,000 events and find nothing", true, scan},
		{"d-lists", "REQs with 16 lists of 1,900 `#d`", true, dLists},
		{"values", "64 subscriptions with 250 KB of values each, compressed to 300 bytes", true, values},
		{"live-lists", "20 subscriptions of 16 filters that fail late, and events with 1,900 tags to try them on", true, liveLists},
		{"count", "COUNTs of 16 filters over all events", true, counts},
		{"syncs", "reconciliations of all events, two for each connection, and the dearest messages about them", false, syncs},
		{"search", "searches for a word of all events", false, searches},
		{"answers", "requests for 5,000 events, again and again, as fast as they come", false, answers},
		{"deaf", "requests for 5,000 events by clients that read nothing", false, deaf},
		{"churn", "connections that come, ask and go", false, churn},
		{"subscriptions", "REQ and CLOSE, as fast as the relay reads", false, subscriptions},
		{"noise", "frames that are no JSON, unknown or cut", false, noise},
		{"bombs", "compressed messages of 250 KB and 2 MB of nothing", false, bombs},
		{"signatures", "EVENTs with wrong signatures", true, signatures},
		{"auth", "AUTHs that fail", false, auths},
		{"events", "valid notes, as fast as they are taken", false, notes},
		{"tags", "valid events with 3,900 tags", true, tagged},
		{"deletions", "deletion requests of 2,000 ids and addresses", false, deletions},
		{"ephemeral", "ephemeral events that all attackers subscribe to", false, ephemeral},
		{"contract-search", "searches in a contract's thread of 60 long entries", false, contractSearch},
		{"trickle", "HTTP requests whose body never comes", true, trickle},
		{"headers", "HTTP requests whose headers never end", false, headers},
		{"http", "signed POST /query that look through all events", false, signedQueries},
		{"pages", "GET of the page, NIP-11 and /healthz", false, pages},
		{"large-notes", "notes of 200 KB, each by a new key, until there is room for known keys only", false, largeNotes},
	}
}

const scanFilter = `{"kinds":[1],"#t":["alpha"],"#r":["beta"],"limit":1}`

func scan(target) (fight, error) { return flood(same(`["REQ","s",`+scanFilter+`]`), 0), nil }

// list is n quoted values.
func list(n int, value func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(value(i)))
	}
	return b.String()
}

func dLists(target) (fight, error) {
	filters := make([]string, 16)
	for i := range filters {
		filters[i] = fmt.Sprintf(`{"kinds":[30090,30091],"#d":[%s]}`, list(1900, func(j int) string { return fmt.Sprintf("j%d-%d", i, j) }))
	}
	return flood(same(`["REQ","d",`+strings.Join(filters, ",")+`]`), 0), nil
}

func values(target) (fight, error) {
	frames := make([][]byte, 0, 128)
	for i := range 64 {
		long := fmt.Sprintf(`["REQ","l%d",{"kinds":[1],"#t":["%s"],"limit":0}]`, i, strings.Repeat("x", 250_000))
		many := fmt.Sprintf(`["REQ","m%d",{"kinds":[1],"#t":[%s],"limit":0}]`, i, list(240, func(j int) string { return strings.Repeat("y", 1000) + strconv.Itoa(j) }))
		frames = append(frames, deflatedFrame(long), deflatedFrame(many))
	}
	return flood(func(*soldier) [][]byte { return frames }, -1), nil
}

func liveLists(target) (fight, error) {
	filter := fmt.Sprintf(`{"#a":["z"],"#b":[%s],"limit":0}`, list(5, func(j int) string { return strings.Repeat("b", 200) + strconv.Itoa(j) }))
	filter = strings.Replace(filter, `{`, `{"kinds":[1],`, 1)
	var frames [][]byte
	for i := range 20 {
		frames = append(frames, textFrame(fmt.Sprintf(`["REQ","f%d",%s]`, i, strings.Repeat(filter+",", 15)+filter)))
	}
	var events [][]byte
	for i := range 60 {
		tags := nostr.Tags{{"a", "z"}}
		for j := range 1900 {
			tags = append(tags, nostr.Tag{"b", strings.Repeat("b", 40) + strconv.Itoa(j)})
		}
		events = append(events, event(relaytest.NewKey(uint64(9000+i%10)), i, tags))
	}
	return flood(func(s *soldier) [][]byte {
		if s.n%10 == 0 {
			return append(frames[:len(frames):len(frames)], events...)
		}
		return frames
	}, -1), nil
}

// event is the frame of a note.
func event(k relaytest.Key, i int, tags nostr.Tags) []byte {
	ev := relaytest.Note(k, time.Now().Unix()-50_000+int64(i), fmt.Sprint("attack ", i), tags...)
	return textFrame(`["EVENT",` + ev.String() + `]`)
}

func counts(target) (fight, error) {
	filters := make([]string, 16)
	for i := range filters {
		filters[i] = fmt.Sprintf(`{"kinds":[1],"#t":["alpha"],"#r":["beta%d"]}`, i)
	}
	return flood(same(`["COUNT","c",`+strings.Join(filters, ",")+`]`), 0), nil
}

func syncs(target) (fight, error) {
	frames := make([]string, 0, 12)
	for i := range 12 {
		if i < 2 {
			frames = append(frames, fmt.Sprintf(`["NEG-OPEN","%d",{"kinds":[1]},"6100000200"]`, i))
			continue
		}
		frames = append(frames, fmt.Sprintf(`["NEG-MSG","%d","61%s"]`, i%2, strings.Repeat("020000", 40_000)))
	}
	return flood(same(frames...), 0), nil
}

func searches(target) (fight, error) {
	return flood(same(`["REQ","q",{"kinds":[1],"search":"alpha note","limit":1}]`), 0), nil
}

func answers(target) (fight, error) {
	return flood(same(`["REQ","a",{"kinds":[1],"limit":5000}]`, `["CLOSE","a"]`), 0), nil
}

func deaf(target) (fight, error) {
	ask := textFrame(`["REQ","a",{"kinds":[1],"limit":5000}]`)
	return func(ctx context.Context, s *soldier) {
		again(ctx, func() error {
			conn, _, err := s.websocket(ctx)
			if err != nil {
				return err
			}
			defer closing(ctx, conn)()
			for range 200 {
				_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
				if _, err := conn.Write(ask); err != nil {
					break
				}
				s.struck()
			}
			s.engaged()
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
			return nil
		})
	}, nil
}

func churn(target) (fight, error) {
	ask := textFrame(`["REQ","c",{"kinds":[1],"limit":10}]`)
	return func(ctx context.Context, s *soldier) {
		again(ctx, func() error {
			conn, _, err := s.websocket(ctx)
			if err != nil {
				return err
			}
			s.engaged()
			s.struck()
			_, err = conn.Write(ask)
			conn.Close()
			return err
		})
	}, nil
}

func subscriptions(target) (fight, error) {
	var frames []string
	for i := range 60 {
		frames = append(frames, fmt.Sprintf(`["REQ","%d",{"kinds":[1],"authors":[%s],"limit":0}]`, i,
			list(60, func(j int) string { return fmt.Sprintf("%064x", i*1000+j) })), fmt.Sprintf(`["CLOSE","%d"]`, i))
	}
	return flood(same(frames...), 0), nil
}

func noise(target) (fight, error) {
	return flood(same(`{`, `["NOISE"]`, `["REQ"]`, `["EVENT",{"id":1}]`, strings.Repeat("[", 5000), `["REQ","x",{"kinds":null}]`), 0), nil
}

func bombs(target) (fight, error) {
	frames := [][]byte{
		deflatedFrame(`["REQ","b",{"ids":["` + strings.Repeat("a", 250_000) + `"]}]`),
		deflatedFrame(strings.Repeat(" ", 2_000_000)),
	}
	return flood(func(*soldier) [][]byte { return frames }, 0), nil
}

func signatures(target) (fight, error) {
	var frames []string
	for i := range 200 {
		ev := relaytest.Note(relaytest.NewKey(uint64(9100+i)), time.Now().Unix()-int64(i), fmt.Sprint("forged ", i))
		ev.Sig = strings.Repeat("ab", 64)
		frames = append(frames, `["EVENT",`+ev.String()+`]`)
	}
	return flood(same(frames...), 0), nil
}

func auths(t target) (fight, error) {
	ev := relaytest.AuthEvent(relaytest.NewKey(9300), string(t), "no challenge of this relay", time.Now().Unix())
	return flood(same(`["AUTH",`+ev.String()+`]`), 0), nil
}

func notes(target) (fight, error) {
	return flood(func(s *soldier) [][]byte {
		var frames [][]byte
		for i := range 300 {
			frames = append(frames, event(relaytest.NewKey(uint64(9400+s.n)), i, nil))
		}
		return frames
	}, 0), nil
}

// largeNotes are made as they go out: keys cost nothing, and no note comes twice.
func largeNotes(target) (fight, error) {
	return func(ctx context.Context, s *soldier) {
		keys := uint64(1_000_000 * (s.n + 1))
		again(ctx, func() error {
			conn, r, err := s.websocket(ctx)
			if err != nil {
				return err
			}
			defer closing(ctx, conn)()
			go func() { _, _ = io.Copy(io.Discard, r) }() // ends with the connection
			for ctx.Err() == nil {
				keys++
				k := relaytest.NewKey(keys)
				ev := relaytest.Note(k, time.Now().Unix(), strings.Repeat(k.Pub+" ", 3100))
				if _, err := conn.Write(textFrame(`["EVENT",` + ev.String() + `]`)); err != nil {
					return err
				}
				s.engaged()
				s.struck()
			}
			return nil
		})
	}, nil
}

func tagged(target) (fight, error) {
	return flood(func(s *soldier) [][]byte {
		var frames [][]byte
		for i := range 3 {
			tags := make(nostr.Tags, 3900)
			for j := range tags {
				tags[j] = nostr.Tag{"b", fmt.Sprintf("%d %d %d", s.n, i, j)}
			}
			frames = append(frames, event(relaytest.NewKey(uint64(9700+s.n)), i, tags))
		}
		return frames
	}, 0), nil
}

func deletions(target) (fight, error) {
	return flood(func(s *soldier) [][]byte {
		k := relaytest.NewKey(uint64(10_000 + s.n))
		tags := make(nostr.Tags, 2000)
		for j := range tags {
			tags[j] = nostr.Tag{"e", fmt.Sprintf("%064x", s.n*5000+j)}
			if j%2 == 1 {
				tags[j] = nostr.Tag{"a", fmt.Sprintf("30023:%s:%d", k.Pub, j)}
			}
		}
		var frames [][]byte
		for i := range 3 {
			ev := relaytest.Deletion(k, time.Now().Unix()-int64(i), tags...)
			frames = append(frames, textFrame(`["EVENT",`+ev.String()+`]`))
		}
		return frames
	}, 0), nil
}

func ephemeral(target) (fight, error) {
	return flood(func(s *soldier) [][]byte {
		frames := [][]byte{textFrame(`["REQ","e",{"kinds":[20001],"limit":0}]`)}
		for i := range 50 {
			ev := relaytest.Sign(relaytest.NewKey(uint64(10_300+s.n)), 20001, time.Now().Unix()-int64(i), strings.Repeat("e", 1000))
			frames = append(frames, textFrame(`["EVENT",`+ev.String()+`]`))
		}
		return frames
	}, 1), nil
}

// request sends the beginning of HTTP requests, and then a byte each second.
func request(begin string) fight {
	return func(ctx context.Context, s *soldier) {
		again(ctx, func() error {
			conn, err := s.tcp(ctx)
			if err != nil {
				return err
			}
			defer closing(ctx, conn)()
			if _, err := io.WriteString(conn, strings.ReplaceAll(begin, "HOST", s.addr())); err != nil {
				return err
			}
			s.engaged()
			for ctx.Err() == nil {
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
				if _, err := io.WriteString(conn, "x"); err != nil {
					return err
				}
				s.struck()
			}
			return nil
		})
	}
}

func trickle(target) (fight, error) {
	return request("POST /api/escrow/contracts/0f8fad5b-d9cb-469f-a165-70867728950e/memory/search HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"), nil
}

func headers(target) (fight, error) {
	return request("POST /query HTTP/1.1\r\nHost: HOST\r\nX-Long: "), nil
}
