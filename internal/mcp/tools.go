package mcp

import (
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
func annotated(e effect, title string) *sdk.ToolAnnotations {
	openWorld, destroys := false, e == effectOverwrite || e == effectDestroy
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: e == effectNone, DestructiveHint: &destroys,
		IdempotentHint: e == effectNone || e == effectOverwrite, OpenWorldHint: &openWorld}
}

func (s *Server) addTools() {
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_recall", Title: "Recall", Annotations: annotated(effectNone, "Recall"), Description: describeRecall},
		handler(s, "memory_recall", s.recall))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_stats", Title: "Count memories", Annotations: annotated(effectNone, "Count memories"), Description: describeStats},
		handler(s, "memory_stats", s.stats))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_list", Title: "List memories", Annotations: annotated(effectNone, "List memories"), Description: describeList},
		handler(s, "memory_list", s.list))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_read", Title: "Read a memory", Annotations: annotated(effectNone, "Read a memory"), Description: describeRead},
		handler(s, "memory_read", s.read))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_search", Title: "Search memories", Annotations: annotated(effectNone, "Search memories"), Description: describeSearch},
		handler(s, "memory_search", s.search))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_history", Title: "Show versions of a memory", Annotations: annotated(effectNone, "Show versions of a memory"), Description: describeHistory},
		handler(s, "memory_history", s.history))
	if s.o.ReadOnly {
		return
	}
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_write", Title: "Write a memory", Annotations: annotated(effectOverwrite, "Write a memory"), Description: describeWrite},
		handler(s, "memory_write", s.write))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_append", Title: "Append to a memory", Annotations: annotated(effectAdd, "Append to a memory"), Description: describeAppend},
		handler(s, "memory_append", s.append))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_delete", Title: "Delete a memory", Annotations: annotated(effectOverwrite, "Delete a memory"), Description: describeDelete},
		handler(s, "memory_delete", s.remove))
	sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_restore", Title: "Restore a version of a memory", Annotations: annotated(effectDestroy, "Restore a version of a memory"), Description: describeRestore},
		handler(s, "memory_restore", s.restore))
	if s.o.Snapshot != nil {
		sdk.AddTool(s.sdk, &sdk.Tool{Name: "memory_snapshot", Title: "Keep the memory as it is", Annotations: annotated(effectAdd, "Keep the memory as it is"), Description: describeSnapshot},
			handler(s, "memory_snapshot", s.snapshot))
	}
}
