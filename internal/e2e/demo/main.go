// Command demo starts the relay on loopback, loads real signed events, and
// walks through it as nobody, a stranger, the agent, its owner and the parties
// of a contract. Each request is shown with its answer, and each answer is
// checked: the demo ends with 1 when one is wrong.
package main

import (
	"fmt"
	"os"
	"time"

	"engramd/internal/e2e/relaytest"
)

func main() {
	os.Exit(run())
}

// run returns the exit code, after everything that was started has ended.
func run() (code int) {
	s := &stage{out: os.Stdout, start: time.Now()}
	defer s.end()
	defer func() {
		if r := recover(); r != nil {
			if _, ours := r.(gaveUp); !ours {
				panic(r)
			}
			code = 1
		}
	}()
	s.chapter("The relay starts")
	s.relay = relaytest.Start(s, relaytest.Options{})
	s.say("engramd serve --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --data DIR")
	s.say("ready: url=%s metrics=%s", s.relay.URL, s.relay.Metrics)
	for _, chapter := range []func(*stage){
		load, asNobody, asStranger, asAgent, asOwner, asParties, overHTTP, operating, live, refusals, restart,
	} {
		chapter(s)
	}
	took := time.Since(s.start).Round(100 * time.Millisecond)
	if s.wrong > 0 {
		fmt.Fprintf(s.out, "\n%d of %d answers were WRONG (%v)\n", s.wrong, s.checks, took)
		return 1
	}
	fmt.Fprintf(s.out, "\nAll %d answers were as they should be (%v).\n", s.checks, took)
	return 0
}
