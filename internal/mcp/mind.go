package mcp

// Mind is what the tools of the profile mind need beside the memory: a tool whose
// part is nil is left out.
type Mind struct {
	// Alone leaves out the other tools for the memory.
	Alone bool
}

// minds reports whether the profile mind is offered.
func (s *Server) minds() bool { return s.o.Memory != nil && s.o.Mind != nil && !s.o.ReadOnly }

// mindAlone reports whether no other tools for the memory are.
func (s *Server) mindAlone() bool { return s.minds() && s.o.Mind.Alone && s.o.Files == NoFiles }

// addMindTools adds the tools for what an agent makes of its memory. Every one of
// them stands in each session's context: TestMindFits has the limit.
func (s *Server) addMindTools() {
}
