package intentions

import (
	"testing"

	"engramd/nips/frontmatter"
)

// An intention of a project comes up only in a folder that is linked to the
// project.
func TestHere(t *testing.T) {
	none, claims, atlas := Place{}, Place{Project: "atlas"}, Place{Project: "atlas", Linked: true}
	deep := Place{Project: "x-org/ana/atlas-12345678", Old: "x-org-ana-atlas", Linked: true}
	for _, tt := range []struct {
		slug, where string
		want        map[Place]bool
	}{
		{"mem/intentions/x", "", map[Place]bool{none: true, claims: true, atlas: true, deep: true}},
		{"mem/intentions/x", "atlas", map[Place]bool{atlas: true}},
		{"mem/intentions/x", "boats", nil},
		{"mem/intentions/x", "project", nil},
		{"mem/projects/atlas", "", map[Place]bool{atlas: true}},
		{"mem/projects/atlas/x", "", map[Place]bool{atlas: true}},
		{"mem/projects/atlas/x", "project", map[Place]bool{atlas: true}},
		{"mem/projects/boats/x", "", nil},
		{"mem/projects/boats/x", "project", nil},
		{"mem/projects/boats/x", "atlas", nil},
		{"mem/projects/atlas-2/x", "", nil},
		{"mem/intentions/x", "x-org/ana/atlas-12345678", map[Place]bool{deep: true}},
		{"mem/intentions/x", "x-org-ana-atlas", map[Place]bool{deep: true}},
		{"mem/projects/x-org/ana/atlas-12345678/x", "project", map[Place]bool{deep: true}},
		{"mem/projects/x-org-ana-atlas/x", "project", map[Place]bool{deep: true}},
		{"mem/projects/x-org/ana/x", "project", nil},
	} {
		i, ok := Read(tt.slug, frontmatter.Parse("---\ntype: prospective\nwhere: "+tt.where+"\n---\nx"))
		if !ok {
			t.Fatal("no intention")
		}
		for _, at := range []Place{none, claims, atlas, deep} {
			if got := i.Here(at); got != tt.want[at] {
				t.Errorf("%s, where %q, at %+v: %v", tt.slug, tt.where, at, got)
			}
		}
	}
}
