package mem

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"engramd/nips/nipae"
)

// The picture is XML whatever the slugs are, the same for the same graph, and
// has a box for each memory and a line for each reference.
func TestGraphSVG(t *testing.T) {
	hostile := nipae.Slug(`mem/"><script>alert(1)</script>&` + strings.Repeat("a", 300) + "\x00\u202e")
	g := nipae.Graph{Nodes: []nipae.Node{
		{Slug: "core", To: []nipae.Slug{"mem/a", hostile}},
		{Slug: "mem/a", To: []nipae.Slug{"core", "mem/a"}, From: []nipae.Slug{"core"}, Depth: 1},
		{Slug: "mem/lost", To: []nipae.Slug{"mem/nowhere"}, Depth: -1},
	}, Orphans: []nipae.Slug{"mem/lost"}, Dangling: []nipae.Reference{{From: "core", To: hostile}, {From: "mem/lost", To: "mem/nowhere"}}}
	picture := graphSVG(g)
	if graphSVG(g) != picture {
		t.Error("the same graph is another picture")
	}
	d := xml.NewDecoder(strings.NewReader(picture))
	counts := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
	if fmt.Sprint(counts["script"], counts["text"], counts["path"]) != "0 5 6" { // one path is the arrow's head
		t.Errorf("%v\n%s", counts, picture)
	}
	if empty := graphSVG(nipae.Graph{}); xml.Unmarshal([]byte(empty), new(struct{})) != nil {
		t.Errorf("an empty graph: %s", empty)
	}
}
