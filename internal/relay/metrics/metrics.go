// Package metrics holds the daemon's one Prometheus registry and the typed
// methods through which the other packages count.
//
// Label values come from closed sets (see labels.go): whatever is not listed
// there is counted as "other", so that neither a key nor an id nor a client's
// text can become a label.
package metrics

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is the registry with all collectors of the daemon in it; each part
// counts what one part of the daemon does. Make one with New. All methods are
// safe for concurrent use.
type Metrics struct {
	registry registry
	// ReloadDone counts one SIGHUP: ok, or refused because the new configuration
	// was bad and the old one stays in force.
	ReloadDone func(ok bool)
	// ClockJumped counts one jump of the clock.
	ClockJumped func()

	Sessions   *Sessions
	Relay      *Relay
	HTTP       *HTTP
	Admin      *Admin
	Store      *Store
	Broker     *Broker
	Outbox     *Outbox
	Replicas   *Replicas
	ClusterLog *ClusterLog
	Program    *Program
	Snapshots  *Snapshots
}

// New makes a registry with every metric of the daemon in it, the Go runtime
// and process collectors included. Counters with known label values start at
// zero, so that a first increment is seen as one by rate().
func New(version string) *Metrics {
	r := registry{prometheus.NewRegistry()}
	waiting := newQueues(r)
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "engramd_build_info",
		Help: "Always 1; the labels say which build is running.",
	}, []string{"version", "goversion"})
	info.WithLabelValues(version, runtime.Version()).Set(1)
	r.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Metrics{
		registry:    r,
		ReloadDone:  r.okOrRefused("engramd_config_reloads_total", "Configuration reloads (SIGHUP), by outcome."),
		ClockJumped: newClock(r),
		Sessions:    newSessions(r, waiting.QueueAdd), Relay: newRelay(r), HTTP: newHTTP(r), Admin: newAdmin(r), Store: newStore(r, waiting), Broker: newBroker(r),
		Outbox: newOutbox(r), Replicas: newReplicas(r), ClusterLog: newClusterLog(waiting), Program: newProgram(r), Snapshots: newSnapshots(r),
	}
}

// None returns metrics that nobody reads, for a process or a test without a
// listener.
var None = sync.OnceValue(func() *Metrics { return New("") })

// registry makes metrics that are registered.
type registry struct{ *prometheus.Registry }

// Registry returns the registry, for the listener and for tests.
func (m *Metrics) Registry() *prometheus.Registry {
	return m.registry.Registry
}

// counterVec registers a counter family and makes its children for every
// combination of the closed label values.
func (r registry) counterVec(name, help string, labels ...label) *prometheus.CounterVec {
	names := make([]string, len(labels))
	for i, l := range labels {
		names[i] = l.name
	}
	v := r.counters(name, help, names...)
	each(labels, nil, func(values []string) { v.WithLabelValues(values...) })
	return v
}

// count registers a counter family with one label, and returns what adds one.
func (r registry) count(name, help string, l label) func(value string) {
	v := r.counterVec(name, help, l)
	return func(value string) { v.WithLabelValues(l.of(value)).Inc() }
}

// countBoth is count for two labels.
func (r registry) countBoth(name, help string, first, second label) func(one, other string) {
	v := r.counterVec(name, help, first, second)
	return func(one, other string) { v.WithLabelValues(first.of(one), second.of(other)).Inc() }
}

// adding returns what adds a number to a counter or gauge.
func adding(to interface{ Add(float64) }) func(n int) { return func(n int) { to.Add(float64(n)) } }

// counters registers a counter family without children.
func (r registry) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(v)
	return v
}

func (r registry) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	r.MustRegister(c)
	return c
}

func (r registry) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	r.MustRegister(g)
	return g
}

func (r registry) histogramVec(name, help string, buckets []float64, l label) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{l.name})
	r.MustRegister(v)
	each([]label{l}, nil, func(values []string) { v.WithLabelValues(values...) })
	return v
}

func (r registry) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	r.MustRegister(h)
	return h
}

// WatchReady registers engramd_ready, which asks ready at every scrape: whether
// /readyz would answer 200. Call it once.
func (m *Metrics) WatchReady(ready func() bool) {
	m.registry.onScrape("engramd_ready", "1 while the database is writable and the daemon is not shutting down.",
		func() int64 { return int64(oneIf(ready())) })
}

// gauge is one of those that are read together.
type gauge struct{ name, help string }

// setGauges gives the values of gauges, in their order, for some values of their
// labels.
type setGauges func(values []float64, labels ...string)

// watch registers gauges that are read together at every scrape.
func (r registry) watch(labels []string, gauges []gauge, read func(set setGauges)) {
	w := &watched{read: read}
	for _, g := range gauges {
		w.gauges = append(w.gauges, prometheus.NewDesc(g.name, g.help, labels, nil))
	}
	r.MustRegister(w)
}

type watched struct {
	gauges []*prometheus.Desc
	read   func(set setGauges)
}

// Describe names the gauges.
func (w *watched) Describe(out chan<- *prometheus.Desc) {
	for _, d := range w.gauges {
		out <- d
	}
}

// Collect reads them.
func (w *watched) Collect(out chan<- prometheus.Metric) {
	w.read(func(values []float64, labels ...string) {
		for i, d := range w.gauges {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, values[i], labels...)
		}
	})
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// okOrRefused returns what adds one to the outcome "ok" or "refused" of a family.
func (r registry) okOrRefused(name, help string) func(ok bool) {
	add := r.count(name, help, label{"outcome", []string{"ok", "refused"}})
	return func(ok bool) {
		if ok {
			add("ok")
		} else {
			add("refused")
		}
	}
}

// Value is one counter or gauge at a moment.
type Value struct {
	Labels string // the values of its labels, by spaces
	Value  float64
}

// Values reads some counters and gauges, by their names; those that are zero
// are left out.
func (m *Metrics) Values(names []string) (map[string][]Value, error) {
	out := map[string][]Value{}
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

// Handler serves GET /metrics and, only when asked for, net/http/pprof under
// /debug/pprof/. It belongs on a listener of its own that the public cannot
// reach: profiles show what the process has in memory.
func (m *Metrics) Handler(withPprof bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry}))
	if withPprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// Server wraps Handler in an http.Server with time limits fit for a scraper; a
// profile may take two minutes.
func (m *Metrics) Server(withPprof bool) *http.Server {
	return &http.Server{
		Handler:           m.Handler(withPprof),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}
