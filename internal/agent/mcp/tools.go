package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// effect says how a tool changes the memory.
type effect int

const (
	effectNone      effect = iota // changes nothing
	effectAdd                     // adds something and takes nothing away
	effectOverwrite               // may take something away; repeating the call changes nothing more
	effectDestroy                 // may take something away, each time
)

// annotated returns MCP's hints for an effect; for what changes nothing the others
// mean nothing. That the world of a memory is closed is not said: each byte stands in
// every context.
func annotated(e effect) *sdk.ToolAnnotations {
	if e == effectNone {
		return &sdk.ToolAnnotations{ReadOnlyHint: true}
	}
	destroys := e == effectOverwrite || e == effectDestroy
	return &sdk.ToolAnnotations{DestructiveHint: &destroys, IdempotentHint: e == effectOverwrite}
}

// readTools are the tools that read memories.
type readTools struct{ m *memories }

// writeTools are the tools that write memories.
type writeTools struct{ m *memories }

func (s *Server) addTools() {
	reads, writes := &readTools{s.memories}, &writeTools{s.memories}
	add(s, "memory_recall", "Recall", effectNone, describeRecall, reads.recall)
	add(s, "memory_list", "List", effectNone, describeList, reads.list)
	add(s, "memory_read", "Read", effectNone, describeRead, reads.read)
	add(s, "memory_search", "Search", effectNone, describeSearch, reads.search)
	add(s, "memory_history", "Versions", effectNone, describeHistory, reads.history)
	add(s, "memory_stats", "Count", effectNone, describeStats, reads.stats)
	if s.memories.readOnly {
		return
	}
	if s.memories.consolidates() {
		add(s, "memory_write", "Write", effectOverwrite, describeWrite, andWaiting(s.memories, writes.write))
		add(s, "memory_note", "Note", effectAdd, describeNote, andWaiting(s.memories, writes.note))
	} else {
		add(s, "memory_write", "Write", effectOverwrite, describeWrite, writes.write)
		add(s, "memory_note", "Note", effectAdd, describeNote, writes.note)
	}
	add(s, "memory_append", "Append", effectAdd, describeAppend, writes.append)
	add(s, "memory_edit", "Edit", effectDestroy, describeEdit, writes.edit)
	add(s, "memory_rename", "Rename", effectDestroy, describeRename, writes.rename)
	add(s, "memory_link", "Link", effectOverwrite, describeLink, writes.link)
	add(s, "memory_delete", "Delete", effectOverwrite, describeDelete, writes.remove)
	add(s, "memory_restore", "Restore", effectDestroy, describeRestore, writes.restore)
	if s.o.Session.Proposals() != nil {
		s.addProposalTools()
	}
	if s.o.Session.Snapshots() != nil {
		add(s, "memory_snapshot", "Snapshot", effectAdd, describeSnapshot, writes.snapshot)
	}
}

// add adds a tool.
func add[In, Out any](s *Server, name, title string, e effect, description string, do func(context.Context, In) (Out, error)) {
	sdk.AddTool(s.sdk, &sdk.Tool{Name: name, Title: title, Annotations: annotated(e), Description: description}, handler(s, name, do))
}
