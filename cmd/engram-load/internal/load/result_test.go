package load

import (
	"strings"
	"testing"
)

// What was not measured is not printed as 0.
func TestTable(t *testing.T) {
	whole := Usage{RSSBefore: 10, RSSAfter: 20, RSSPeak: 30}
	tests := []struct {
		name      string
		result    Result
		has, lack []string
	}{
		{"relay", Result{Server: "ws://a", Usage: &whole}, []string{"ws://a", "10 KiB before, 20 after, 30 peak"}, nil},
		{"relay without its pid", Result{Server: "ws://a"}, []string{"ws://a"}, []string{"server RSS", "server CPU"}},
		{"program that ended", Result{Usage: &Usage{RSSPeak: 30}}, []string{"30 KiB peak", "server CPU"}, []string{"before", "server  "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := tt.result.WriteTable(&out); err != nil {
				t.Fatal(err)
			}
			for _, text := range tt.has {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing in\n%s", text, out.String())
				}
			}
			for _, text := range tt.lack {
				if strings.Contains(out.String(), text) {
					t.Errorf("%q is in\n%s", text, out.String())
				}
			}
		})
	}
}
