package nipae

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestFilters(t *testing.T) {
	p := newPair(t, 1, 2)
	for want, f := range map[string]any{
		fmt.Sprintf(`{"kinds":[30174],"authors":["%s"],"#p":["%s"]}`, p.agent, p.owner): ListFilter(p.agent, p.owner),
		fmt.Sprintf(`{"kinds":[30174],"authors":["%s"],"#d":["%s"],"#p":["%s"]}`, p.agent, p.key.Address("mem/a"), p.owner): HeadFilter(
			p.key, p.agent, p.owner, "mem/a"),
	} {
		got, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var a, b map[string]any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	ev := p.write("mem/a", "x", 5)
	head, other := HeadFilter(p.key, p.agent, p.owner, "mem/a"), HeadFilter(p.key, p.agent, p.owner, "mem/b")
	if list := ListFilter(p.agent, p.owner); !head.Matches(ev) || !list.Matches(ev) || other.Matches(ev) {
		t.Error("the filters match otherwise than they should")
	}
}
