package linear

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// What a client does to a register, which is the head of one address.
const (
	doRead = iota
	doWrite
	doSet // and compare
)

// version is an event as a register sees it; the zero one is none.
type version struct {
	at int64
	id string
}

// newer is the rule of NIP-01: the later one, of two of one second the lower id.
func (v version) newer(than version) bool {
	return v.at > than.at || v.at == than.at && v.id < than.id
}

type input struct {
	register, do int
	to           version // of a write or a set
	base         string  // of a set
}

// What the relay answered.
const (
	unknown = iota // nothing: it may have been done, then or later
	done
	refused // for another head: a newer one, or one that is not the base
)

type output struct {
	answer int
	head   string // of a read
}

// registers is what the relay promises of its heads.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var parts [2][]porcupine.Operation
		for _, o := range history {
			r := o.Input.(input).register
			parts[r] = append(parts[r], o)
		}
		return parts[:]
	},
	Init: func() any { return version{} },
	Step: func(state, in, out any) (bool, any) { return step(state.(version), in.(input), out.(output)) },
}

func step(head version, in input, out output) (bool, version) {
	takes := head == (version{}) || in.to.newer(head)
	if in.do == doSet {
		takes = takes && in.base == head.id
	}
	switch {
	case in.do == doRead:
		return out.head == head.id, head
	case out.answer == refused:
		return !takes, head
	case out.answer == done && !takes:
		return false, head
	case takes:
		return true, in.to
	}
	return true, head // nothing is known of it, and it changed nothing
}

// TestModelFindsFaults: a history that no register can have is found to be one.
func TestModelFindsFaults(t *testing.T) {
	one, two := version{1, "a"}, version{2, "b"}
	write := func(call, ret int64, v version, answer int) porcupine.Operation {
		return porcupine.Operation{Input: input{do: doWrite, to: v}, Output: output{answer: answer}, Call: call, Return: ret}
	}
	set := func(call, ret int64, v version, base string, answer int) porcupine.Operation {
		return porcupine.Operation{Input: input{do: doSet, to: v, base: base}, Output: output{answer: answer}, Call: call, Return: ret}
	}
	read := func(call, ret int64, id string) porcupine.Operation {
		return porcupine.Operation{Input: input{do: doRead}, Output: output{answer: done, head: id}, Call: call, Return: ret}
	}
	for _, c := range []struct {
		what    string
		fine    bool
		history []porcupine.Operation
	}{
		{"a write and its read", true, []porcupine.Operation{write(1, 2, one, done), read(3, 4, "a")}},
		{"a write that is lost", false, []porcupine.Operation{write(1, 2, one, done), read(3, 4, "")}},
		{"a head that goes back", false, []porcupine.Operation{write(1, 2, one, done), write(3, 4, two, done), read(5, 6, "b"), read(7, 8, "a")}},
		{"a write without an answer, seen", true, []porcupine.Operation{write(1, 99, one, unknown), read(3, 4, "a")}},
		{"and seen no more", false, []porcupine.Operation{write(1, 99, one, unknown), read(3, 4, "a"), read(5, 6, "")}},
		{"two that win with one base", false, []porcupine.Operation{set(1, 9, one, "", done), set(1, 9, two, "", done)}},
		{"an older one refused", true, []porcupine.Operation{write(1, 2, two, done), write(3, 4, one, refused), read(5, 6, "b")}},
		{"a newer one refused", false, []porcupine.Operation{write(1, 2, one, done), write(3, 4, two, refused)}},
	} {
		if got := porcupine.CheckOperations(registers, c.history); got != c.fine {
			t.Errorf("%s: linearizable %v", c.what, got)
		}
	}
}
