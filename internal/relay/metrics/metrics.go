// Package metrics holds the daemon's one Prometheus registry and the typed
// methods through which the other packages count.
//
// Every method may be called on a nil *Metrics and does nothing then, so that
// no package needs a registry in its tests. Label values come from closed sets
// (see labels.go): whatever is not listed there is counted as "other", so that
// neither a key nor an id nor a client's text can become a label.
package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is the registry with all collectors of the daemon in it. Make one
// with New. All methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	connections         prometheus.Gauge
	connectionsLimit    prometheus.Gauge
	connectionsTotal    prometheus.Counter
	connectionsRefused  *prometheus.CounterVec
	subscriptions       prometheus.Gauge
	subscriptionsClosed *prometheus.CounterVec
	frames              *prometheus.CounterVec
	framesRefused       *prometheus.CounterVec
	readsPaused         prometheus.Counter
	slowReaders         *prometheus.CounterVec
	auths               *prometheus.CounterVec
	eventsSent          *prometheus.CounterVec

	syncs       prometheus.Gauge
	syncBytes   prometheus.Gauge
	syncEnds    *prometheus.CounterVec
	syncSeconds prometheus.Histogram

	events      *prometheus.CounterVec
	gate        *prometheus.CounterVec
	http        *prometheus.CounterVec
	httpRefused *prometheus.CounterVec
	queues      *prometheus.GaugeVec
	reloads     *prometheus.CounterVec
	queries     *prometheus.HistogramVec
	queryErrs   *prometheus.CounterVec
	readWaits   *prometheus.HistogramVec

	adminCalls   *prometheus.CounterVec
	adminRefused *prometheus.CounterVec
	apiRefused   *prometheus.CounterVec

	commits     prometheus.Histogram
	commitErrs  prometheus.Counter
	noRoom      prometheus.Counter
	batchEvents prometheus.Histogram
	removed     *prometheus.CounterVec
	retired     *prometheus.CounterVec

	brokerMessages *prometheus.CounterVec
	brokerUp       prometheus.Gauge
	brokerFailures prometheus.Counter

	outbox *prometheus.CounterVec

	replica *prometheus.CounterVec

	cluster *clusterSeen

	programAnswers *prometheus.CounterVec
	programSeconds prometheus.Histogram
	programEnds    prometheus.Counter

	snapshots       *prometheus.CounterVec
	snapshotSeconds *prometheus.CounterVec
	snapshotLast    *prometheus.GaugeVec
}

// New makes a registry with every metric of the daemon in it, the Go runtime
// and process collectors included. Counters with known label values start at
// zero, so that a first increment is seen as one by rate().
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.defineSession()
	m.defineSync()
	m.defineRelay()
	m.defineStore()
	m.defineBroker()
	m.defineAdmin()
	m.defineOutbox()
	m.defineReplicas()
	m.defineCluster()
	m.defineAPI()
	m.defineSnapshot()
	m.defineProgram()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "engramd_build_info",
		Help: "Always 1; the labels say which build is running.",
	}, []string{"version", "goversion"})
	info.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registry returns the registry, for the listener and for tests; nil when m is.
func (m *Metrics) Registry() *prometheus.Registry {
	if m == nil {
		return nil
	}
	return m.registry
}

// counterVec registers a counter family and makes its children for every
// combination of the closed label values.
func (m *Metrics) counterVec(name, help string, labels ...label) *prometheus.CounterVec {
	names := make([]string, len(labels))
	for i, l := range labels {
		names[i] = l.name
	}
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names)
	m.registry.MustRegister(v)
	each(labels, nil, func(values []string) { v.WithLabelValues(values...) })
	return v
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

// WatchReady registers engramd_ready, which asks ready at every scrape: whether
// /readyz would answer 200. Call it once.
func (m *Metrics) WatchReady(ready func() bool) {
	if m == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "engramd_ready",
		Help: "1 while the database is writable and the daemon is not shutting down.",
	}, func() float64 {
		if ready() {
			return 1
		}
		return 0
	}))
}

// ReloadDone counts one SIGHUP: ok, or refused because the new configuration
// was bad and the old one stays in force.
func (m *Metrics) ReloadDone(ok bool) {
	if m == nil {
		return
	}
	m.reloads.WithLabelValues(okOr(ok, "refused")).Inc()
}

// seconds returns what histograms take.
func seconds(d time.Duration) float64 { return d.Seconds() }

func okOr(ok bool, otherwise string) string {
	if ok {
		return "ok"
	}
	return otherwise
}
