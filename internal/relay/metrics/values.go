package metrics

import (
	"slices"
	"strings"
)

// Value is one counter or gauge at a moment.
type Value struct {
	Labels string // the values of its labels, by spaces
	Value  float64
}

// Values reads some counters and gauges, by their names; those that are zero
// are left out.
func (m *Metrics) Values(names []string) (map[string][]Value, error) {
	out := map[string][]Value{}
	if m == nil {
		return out, nil
	}
	families, err := m.registry.Gather()
	for _, f := range families {
		if !slices.Contains(names, f.GetName()) {
			continue
		}
		for _, one := range f.GetMetric() {
			v := one.GetCounter().GetValue() + one.GetGauge().GetValue()
			if v == 0 {
				continue
			}
			labels := make([]string, 0, len(one.GetLabel()))
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			out[f.GetName()] = append(out[f.GetName()], Value{strings.Join(labels, " "), v})
		}
	}
	return out, err
}
