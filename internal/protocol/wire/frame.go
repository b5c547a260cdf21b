package wire

import (
	"errors"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// The labels of the client frames that the relay knows (NIP-01, NIP-42, NIP-45,
// NIP-77).
const (
	LabelEvent    = "EVENT"
	LabelReq      = "REQ"
	LabelCount    = "COUNT"
	LabelClose    = "CLOSE"
	LabelAuth     = "AUTH"
	LabelNegOpen  = "NEG-OPEN"
	LabelNegMsg   = "NEG-MSG"
	LabelNegClose = "NEG-CLOSE"
)

var labels = [...]string{LabelEvent, LabelReq, LabelCount, LabelClose, LabelAuth, LabelNegOpen, LabelNegMsg, LabelNegClose}

// maxSubID is the length in bytes of the longest subscription id (NIP-01).
const maxSubID = 64

// Frame is one message of a client.
type Frame struct {
	// Label is EVENT, REQ, COUNT, CLOSE, AUTH, NEG-OPEN, NEG-MSG or NEG-CLOSE.
	Label string
	// SubID is set for all but EVENT and AUTH: 1–64 bytes of UTF-8, unescaped.
	SubID string
	// Event is set for EVENT and AUTH; its shape is checked, nothing else.
	Event *nostr.Event
	// Filters is set for REQ and COUNT, where there is at least one, and for
	// NEG-OPEN, which has one.
	Filters []nostr.Filter
	// Message is set for NEG-OPEN and NEG-MSG: at least one byte.
	Message []byte
}

// ParseFrame reads one client frame:
//
//	["EVENT", event]  ["AUTH", event]  ["CLOSE", sub]
//	["REQ", sub, filter, …]  ["COUNT", sub, filter, …]
//	["NEG-OPEN", sub, filter or [filter], hex]  ["NEG-MSG", sub, hex]  ["NEG-CLOSE", sub]
//
// with exactly these elements. Events and filters are read as by ParseEvent
// and ParseFilter; a negentropy message is lower-case hex. The error is a
// *FrameError, with what could be read of the frame before the fault.
func ParseFrame(b []byte, lim Limits) (Frame, error) {
	s := newScanner(b)
	var f Frame
	err := s.frame(&f, lim)
	if err == nil {
		err = s.end()
	}
	if err == nil {
		return f, nil
	}
	fault := &FrameError{Label: f.Label, SubID: f.SubID, Reason: err.Error()}
	var shape *ShapeError
	switch {
	case errors.As(err, &shape):
		fault.EventID = shape.ID
	case f.Event != nil:
		fault.EventID = f.Event.ID
	}
	return Frame{}, fault
}

// frame fills f from front to back, so that it holds what precedes a fault.
func (s *scanner) frame(f *Frame, lim Limits) error {
	if s.peek() != '[' {
		return reason("a message must be a JSON array")
	}
	s.pos++
	ok, err := s.element(true)
	if err != nil {
		return err
	}
	if !ok || s.peek() != '"' {
		return reason("a message must start with its label, a string")
	}
	label, err := s.str()
	if err != nil {
		return err
	}
	i := slices.Index(labels[:], label)
	if i < 0 {
		return reason("unknown message " + quoted(label) + "; this relay knows EVENT, REQ, COUNT, CLOSE, AUTH, NEG-OPEN, NEG-MSG and NEG-CLOSE")
	}
	f.Label = labels[i] // it outlives the frame
	if f.Label == LabelEvent || f.Label == LabelAuth {
		return s.eventFrame(f)
	}
	if err := s.subID(f); err != nil {
		return err
	}
	switch f.Label {
	case LabelClose, LabelNegClose:
		return s.lastElement(f.Label, " takes a subscription id and nothing else")
	case LabelNegOpen:
		if err := s.oneFilter(f, lim); err != nil {
			return err
		}
		return s.message(f)
	case LabelNegMsg:
		return s.message(f)
	}
	if f.Filters, err = s.filterList(false, lim); err == nil && len(f.Filters) == 0 {
		err = reason(f.Label + " needs a filter")
	}
	return err
}

// eventFrame reads the rest of an EVENT or AUTH.
func (s *scanner) eventFrame(f *Frame) (err error) {
	if err := needs(s, f.Label, "an event"); err != nil {
		return err
	}
	s.peek()
	start := s.pos
	if f.Event, err = s.event(); err != nil {
		return &ShapeError{ID: findID(s.src[start:]), Reason: err.Error()}
	}
	return s.lastElement(f.Label, " takes one event and nothing else")
}

// subID reads the subscription id of a frame that has one.
func (s *scanner) subID(f *Frame) error {
	if err := needs(s, f.Label, "a subscription id"); err != nil {
		return err
	}
	if s.peek() != '"' {
		return reason("a subscription id must be a string")
	}
	id, err := s.str()
	if err != nil {
		return err
	}
	if len(id) == 0 || len(id) > maxSubID {
		return reason("a subscription id must have 1 to 64 bytes")
	}
	f.SubID = strings.Clone(id) // it outlives the frame
	return nil
}

// oneFilter reads the filter of a NEG-OPEN, or an array of one: which NIP-77 does
// not have, but strfry takes and NDK sends.
func (s *scanner) oneFilter(f *Frame, lim Limits) (err error) {
	if err := needs(s, f.Label, "a filter"); err != nil {
		return err
	}
	if s.peek() != '[' {
		filter, err := s.filter(lim)
		f.Filters = []nostr.Filter{filter}
		return err
	}
	if f.Filters, err = s.filterArray(lim); err == nil && len(f.Filters) > 1 {
		err = reason(f.Label + " takes one filter")
	}
	return err
}

// message reads the last element of a NEG-OPEN or NEG-MSG.
func (s *scanner) message(f *Frame) error {
	if err := needs(s, f.Label, "a message"); err != nil {
		return err
	}
	if s.peek() != '"' {
		return reason("a negentropy message must be a string")
	}
	text, err := s.str()
	if err != nil {
		return err
	}
	msg := make([]byte, len(text)/2)
	if len(msg) == 0 || !decodeHex(msg, text) {
		return reason("a negentropy message must be lower-case hex, two digits a byte")
	}
	if err := s.lastElement(f.Label, " takes nothing behind its message"); err != nil {
		return err
	}
	f.Message = msg
	return nil
}

// needs moves to the next element of the frame's array, or says what label needs.
func needs(s *scanner, label, what string) error {
	ok, err := s.element(false)
	if err == nil && !ok {
		err = reason(label + " needs " + what)
	}
	return err
}

// lastElement accepts the end of the frame's array, or says what label takes.
func (s *scanner) lastElement(label, takes string) error {
	ok, err := s.element(false)
	if err != nil {
		return err
	}
	if ok {
		return reason(label + takes)
	}
	return nil
}
