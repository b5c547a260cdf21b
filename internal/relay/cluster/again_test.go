package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// kept is a Past in memory.
type kept struct {
	mu   sync.Mutex
	list map[uint64][16]byte
}

func (k *kept) Note(number uint64, hash [16]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list[number] = hash
}

func (k *kept) At(number uint64) (hash [16]byte, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	hash, known = k.list[number]
	return hash, known
}

// site is machines that serve as engramd does: who is struck out joins again.
type site struct {
	*clocked
	last []time.Time // when each did so
	lost []string    // what is on no other machine
}

func newSite(faults Faults) *site {
	s := &site{clocked: newClocked(faults, "a", "b", "c"), last: make([]time.Time, 3)}
	for _, h := range s.hosts {
		h.o.Past = &kept{list: make(map[uint64][16]byte)}
	}
	return s
}

// serve starts a machine, and has it join again if it was struck out.
func (s *site) serve(i int) error {
	h := s.hosts[i]
	n, err := h.start()
	if err == nil {
		err = n.Latest(context.Background())
		time.Sleep(time.Second) // it may end in this moment
		if err = errors.Join(err, n.Err()); err == nil {
			return nil
		}
	}
	h.kill()
	if !errors.Is(err, ErrStruck) && !errors.Is(err, ErrTrimmed) {
		return fmt.Errorf("%s: %w", h.o.Name, err)
	}
	place, err := Inspect(h.disk.state)
	if err != nil {
		return err
	}
	var hashes [][16]byte
	from := -1
	for j, other := range s.hosts {
		if n := other.up(); n != nil {
			if from = j; n != nil {
				if hash, known := HashAt(n, place.At.Number); known {
					hashes = append(hashes, hash)
				}
			}
		}
	}
	if err := Again(place, hashes, s.last[i], time.Now(), h.o.Faults); err != nil {
		return err
	}
	s.last[i] = time.Now()
	s.copy(h, s.hosts[from])
	_, err = h.start()
	return err
}

// copy gives a machine another one's database, and a new id.
func (s *site) copy(h, from *host) {
	had := h.texts()
	from.disk.mu.Lock()
	h.disk.mu.Lock()
	h.disk.rows, h.disk.state = slices.Clone(from.disk.rows), from.disk.state
	h.disk.mu.Unlock()
	from.disk.mu.Unlock()
	h.o.NodeID[7]++
	has := h.texts()
	for _, text := range had {
		if !slices.Contains(has, text) {
			s.lost = append(s.lost, text)
		}
	}
}

// off is how long machines are off, and others write or do not.
func (s *site) off(long time.Duration, writer *host, machines ...int) error {
	for _, i := range machines {
		s.hosts[i].kill()
	}
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(30 * time.Second) {
		if writer != nil {
			if err := put(context.Background(), writer.up(), fmt.Sprint("at ", time.Now())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *site) serveAll(machines ...int) error {
	for _, i := range machines {
		if err := s.serve(i); err != nil {
			return err
		}
		time.Sleep(14 * time.Second)
	}
	return nil
}

// whole returns an error if not all are members, or do not have the same.
func (s *site) whole() error {
	if len(s.lost) > 0 {
		return fmt.Errorf("it had what is nowhere now: %q", s.lost)
	}
	time.Sleep(time.Minute)
	for _, h := range s.hosts {
		n := h.up()
		if n == nil {
			return fmt.Errorf("%s is not there", h.o.Name)
		}
		if err := n.Latest(context.Background()); err != nil {
			return fmt.Errorf("%s: %w", h.o.Name, err)
		}
		if !slices.Equal(h.texts(), s.hosts[2].texts()) {
			return fmt.Errorf("%s has other rows", h.o.Name)
		}
	}
	return s.members(3)
}

// idle simulates a site of two that is off for 35 minutes while the third machine runs
// on and nobody writes: nobody is struck out.
func (s *site) idle() error {
	if err := s.off(35*time.Minute, nil, 0, 1); err != nil {
		return err
	}
	if err := s.members(3); err != nil {
		return err
	}
	return errors.Join(s.serveAll(0, 1), s.whole())
}

// writes simulates the same while somebody writes, and the log is trimmed: both are
// struck out, and come back, once in a day.
func (s *site) writes() error {
	if err := s.off(35*time.Minute, s.hosts[2], 0, 1); err != nil {
		return err
	}
	if err := s.members(1); err != nil {
		return err
	}
	if err := errors.Join(s.serveAll(0, 1), s.whole()); err != nil {
		return err
	}
	for again := range 2 {
		if err := s.off(3*time.Hour, s.hosts[2], 1); err != nil { // the log has been trimmed
			return err
		}
		switch err := s.serve(1); {
		case again == 0 && !errors.Is(err, ErrPerson):
			return fmt.Errorf("it joins again twice in a day: %v", err)
		case again == 1 && err != nil:
			return err
		case again == 0:
			if err := s.off(24*time.Hour, nil, 0, 2); err != nil {
				return err
			}
			if err := s.serveAll(2, 0); err != nil {
				return err
			}
		}
	}
	return s.whole()
}

// differs simulates a machine that has read what the log then lost, and that is off
// until the log is trimmed.
func (s *site) differs() error {
	for _, h := range s.hosts {
		if h != s.hosts[1] {
			h.kill()
		}
	}
	end := s.log.Len()
	if err := put(context.Background(), s.hosts[1].up(), "only b has this"); err != nil {
		return err
	}
	s.hosts[1].kill()
	s.log.Back(end)
	if err := s.serveAll(2, 0); err != nil {
		return err
	}
	if err := s.off(3*time.Hour, s.hosts[2], 1); err != nil {
		return err
	}
	if err := s.serve(1); !errors.Is(err, ErrPerson) || !strings.Contains(err.Error(), "only one with some writes") {
		return fmt.Errorf("it differs, and %v; %q is lost", err, s.lost)
	}
	return nil
}

var siteTrials = []func(*site) error{(*site).idle, (*site).writes, (*site).differs}

func TestWhoWasStruckOutJoinsAgain(t *testing.T) {
	for i, trial := range siteTrials {
		t.Run([]string{"nobody writes", "others write", "it differs"}[i], func(t *testing.T) {
			s := newSite(Faults{})
			if err := s.run(t, func() error { return trial(s) }); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSitesFindEveryFault(t *testing.T) {
	for name, f := range map[string]Faults{
		"StrikeTheIdle": {StrikeTheIdle: true},
		"AgainUnasked":  {AgainUnasked: true},
		"AgainOften":    {AgainOften: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, trial := range siteTrials {
				s := newSite(f)
				if err := s.run(t, func() error { return trial(s) }); err != nil {
					t.Log(err)
					return
				}
			}
			t.Error("no trial has found it")
		})
	}
}

// The log is not trimmed beyond a backup that a node gives, until that is over.
func TestTheLogIsHeldForWhoJoins(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b")
		write := func(hours int) {
			for i := range hours * 60 {
				mustPut(t, list[0].up(), fmt.Sprint(log.Len(), i))
				time.Sleep(time.Minute)
			}
		}
		first := func() uint64 {
			log.mu.Lock()
			defer log.mu.Unlock()
			return log.first
		}
		write(2)
		if first() == 1 {
			t.Fatal("nothing is trimmed")
		}
		release := Hold(list[1].up())
		another := Hold(list[1].up())
		place, err := Inspect(list[1].disk.state)
		if err != nil {
			t.Fatal(err)
		}
		c := newHost(log, "c", 9)
		c.disk.rows, c.disk.state = list[1].disk.copyRows(), list[1].disk.state
		write(3)
		another()
		write(1)
		if first() > place.At.Number+1 {
			t.Errorf("the log begins at %d, and a backup goes up to %d", first(), place.At.Number)
		}
		t.Cleanup(c.kill)
		mustPut(t, begin(t, c), "c has joined")
		release()
		write(2)
		if first() <= place.At.Number+1 {
			t.Errorf("the log begins at %d still", first())
		}
	})
}
