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

func (s *Server) addTools() {
	add(s, "memory_recall", "Recall", effectNone, describeRecall, s.recall)
	add(s, "memory_list", "List", effectNone, describeList, s.list)
	add(s, "memory_read", "Read", effectNone, describeRead, s.read)
	add(s, "memory_search", "Search", effectNone, describeSearch, s.search)
	add(s, "memory_history", "Versions", effectNone, describeHistory, s.history)
	add(s, "memory_stats", "Count", effectNone, describeStats, s.stats)
	if s.readOnly {
		return
	}
	if s.consolidates() {
		add(s, "memory_write", "Write", effectOverwrite, describeWrite, andWaiting(s, s.write))
		add(s, noteTool, "Note", effectAdd, describeNote, andWaiting(s, s.note))
	} else {
		add(s, "memory_write", "Write", effectOverwrite, describeWrite, s.write)
		add(s, noteTool, "Note", effectAdd, describeNote, s.note)
	}
	add(s, "memory_append", "Append", effectAdd, describeAppend, s.append)
	add(s, "memory_edit", "Edit", effectDestroy, describeEdit, s.edit)
	add(s, "memory_rename", "Rename", effectDestroy, describeRename, s.rename)
	add(s, "memory_link", "Link", effectOverwrite, describeLink, s.link)
	add(s, "memory_delete", "Delete", effectOverwrite, describeDelete, s.remove)
	add(s, "memory_restore", "Restore", effectDestroy, describeRestore, s.restore)
	if s.o.Session.Proposals() != nil {
		s.addProposalTools()
	}
	if s.o.Session.Snapshots() != nil {
		add(s, "memory_snapshot", "Snapshot", effectAdd, describeSnapshot, s.snapshot)
	}
}

// add adds a tool.
func add[In, Out any](s *Server, name, title string, e effect, description string, do func(context.Context, In) (Out, error)) {
	sdk.AddTool(s.sdk, &sdk.Tool{Name: name, Title: title, Annotations: annotated(e), Description: description}, handler(s, name, do))
}
