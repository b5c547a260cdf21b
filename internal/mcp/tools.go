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

// annotated returns MCP's hints for an effect. The world of a memory is closed:
// it consists of the configured relays.
func annotated(e effect) *sdk.ToolAnnotations {
	openWorld, destroys := false, e == effectOverwrite || e == effectDestroy
	return &sdk.ToolAnnotations{ReadOnlyHint: e == effectNone, DestructiveHint: &destroys,
		IdempotentHint: e == effectNone || e == effectOverwrite, OpenWorldHint: &openWorld}
}

func (s *Server) addTools() {
	add(s, "memory_list", "List memories", effectNone, describeList, s.list)
	add(s, "memory_read", "Read a memory", effectNone, describeRead, s.read)
	add(s, "memory_search", "Search memories", effectNone, describeSearch, s.search)
	add(s, "memory_history", "Show versions of a memory", effectNone, describeHistory, s.history)
	if s.o.ReadOnly {
		return
	}
	add(s, "memory_write", "Write a memory", effectOverwrite, describeWrite, s.write)
	add(s, "memory_note", "Note what happened", effectAdd, describeNote, s.note)
	add(s, "memory_append", "Append to a memory", effectAdd, describeAppend, s.append)
	add(s, "memory_edit", "Change a part of a memory", effectDestroy, describeEdit, s.edit)
	add(s, "memory_rename", "Rename a memory", effectDestroy, describeRename, s.rename)
	add(s, "memory_link", "Link two memories", effectOverwrite, describeLink, s.link)
	add(s, "memory_delete", "Delete a memory", effectOverwrite, describeDelete, s.remove)
	add(s, "memory_restore", "Restore a version", effectDestroy, describeRestore, s.restore)
	if s.o.Snapshot != nil {
		add(s, "memory_snapshot", "Keep the memory as it is", effectAdd, describeSnapshot, s.snapshot)
	}
}

// add adds a tool.
func add[In, Out any](s *Server, name, title string, e effect, description string, do func(context.Context, In) (Out, error)) {
	sdk.AddTool(s.sdk, &sdk.Tool{Name: name, Title: title, Annotations: annotated(e), Description: description}, handler(s, name, do))
}
