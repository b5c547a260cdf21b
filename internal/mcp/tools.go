package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// effect is what a tool does to the memory.
type effect int

const (
	looks     effect = iota // changes nothing
	adds                    // changes something, takes nothing away
	overrides               // may take something away; again with the same arguments changes nothing more
	repeats                 // may take something away, each time
)

// annotated returns the hints that MCP has for an effect. The world of a memory
// is closed: its relays are those that are configured.
func annotated(e effect, title string) *sdk.ToolAnnotations {
	no, destroys := false, e == overrides || e == repeats
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: e == looks, DestructiveHint: &destroys,
		IdempotentHint: e == looks || e == overrides, OpenWorldHint: &no}
}

func (s *Server) addTools() {
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_list", Title: "List memories", Annotations: annotated(looks, "List memories"), Description: describeList},
		handler(s, "memory_list", s.list))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_read", Title: "Read a memory", Annotations: annotated(looks, "Read a memory"), Description: describeRead},
		handler(s, "memory_read", s.read))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_search", Title: "Search memories", Annotations: annotated(looks, "Search memories"), Description: describeSearch},
		handler(s, "memory_search", s.search))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_history", Title: "Show versions of a memory", Annotations: annotated(looks, "Show versions of a memory"), Description: describeHistory},
		handler(s, "memory_history", s.history))
	if s.o.ReadOnly {
		return
	}
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_write", Title: "Write a memory", Annotations: annotated(overrides, "Write a memory"), Description: describeWrite},
		handler(s, "memory_write", s.write))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_append", Title: "Append to a memory", Annotations: annotated(adds, "Append to a memory"), Description: describeAppend},
		handler(s, "memory_append", s.append))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_delete", Title: "Delete a memory", Annotations: annotated(overrides, "Delete a memory"), Description: describeDelete},
		handler(s, "memory_delete", s.remove))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_restore", Title: "Restore a version of a memory", Annotations: annotated(repeats, "Restore a version of a memory"), Description: describeRestore},
		handler(s, "memory_restore", s.restore))
	if s.o.Snapshot != nil {
		sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_snapshot", Title: "Keep the memory as it is", Annotations: annotated(adds, "Keep the memory as it is"), Description: describeSnapshot},
			handler(s, "memory_snapshot", s.snapshot))
	}
}
