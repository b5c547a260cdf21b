package config

import "time"

func (c *Config) syncOptions() []*declared {
	s := &c.Sync
	return []*declared{
		{"sync.serve", "Answer reconciliations (NIP-77): clients and relays then find out what they do not have in common without reading everything. Off: NEG-OPEN is answered with NEG-ERR, and NIP-11 does not list 77.", true, onOff(&s.Serve, true)},
		{"sync.events", "Events that one reconciliation may be about. Above it, NEG-OPEN is answered \"blocked: too many query results\", and clients ask for a shorter time.", true, num(&s.Events, 250_000, 1, 10_000_000)},
		{"sync.replica_events", "The same for the relays in gate.replicas.", true, num(&s.ReplicaEvents, 1_000_000, 1, 10_000_000)},
		{"sync.per_connection", "Reconciliations of one connection that are open at once.", true, num(&s.PerConnection, 2, 1, maxInt)},
		{"sync.bytes_per_share", "Memory for the events of all open reconciliations of one address or known key (docs/operating.md, Shares): 41 bytes an event. Those of replicas are not counted.", true, bytesOf(&s.BytesPerShare, 16<<20)},
		{"sync.bytes_total", "The same for all. When it is reached, the client that holds most gives way to one that holds less: its largest reconciliation is ended with NEG-ERR. Keys in gate.replicas have half of it, 41 bytes an event, for which others give way.", true, bytesOf(&s.BytesTotal, 256<<20)},
		{"sync.idle", "Time without a message after which a reconciliation is ended with NEG-ERR.", true, dur(&s.Idle, time.Minute, time.Second, time.Hour)},
	}
}
