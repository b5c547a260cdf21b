package config

import (
	"math"
	"net/netip"
	"slices"
	"time"
)

// section describes a TOML table for the example file and the docs.
type section struct{ name, help string }

func sections() []section {
	return []section{
		{"", "Where the relay listens and what it is called."},
		{"log", "Logging (docs/operating.md). No line names a key, an id or content of a client; at level debug clients have short tags, which change at each start."},
		{"info", "How the relay describes itself (NIP-11 document and landing page)."},
		{"gate", "Who may read what."},
		{"write", "Who may write what. Pubkeys are 64 hex digits or npub."},
		{"read", "Who may read at all."},
		{"limits", "What clients can make the relay do."},
		{"timeouts", "How long the relay waits for others."},
		{"auth", "Proving keys (NIP-42, NIP-98)."},
		{"req", "Answers to REQ."},
		{"sync", "Reconciliations with clients and other relays (NIP-77; docs/sync.md)."},
		{"web", "The owner's page, on which owners read in their browser what their agents remember (docs/page.md)."},
		{"history", "Superseded versions of gated kinds (engrams, contract memory, direct messages)."},
		{"retention", "How long events are kept (docs/operating.md)."},
		{"proxy", "Client addresses behind a reverse proxy."},
		{"store", "The database."},
		{"events", "Messages about snapshots and writes for a NATS broker (docs/events.md). Subjects name agents, so they are for the operator alone."},
		{"snapshot", "Snapshots of agents' memory (docs/snapshots.md)."},
		{"contracts", "The contract memory API (docs/contracts.md)."},
		{"cluster", "Several nodes that hold the same memory, over a log in NATS JetStream (docs/cluster.md). Options marked cluster are the same on all of them: what the cluster's configuration says holds."},
		{"admin", "Managing the relay over the network (NIP-86; docs/management.md). The database keeps its changes, and the relay unites them with this configuration."},
	}
}

const maxInt = math.MaxInt32

func one[T any](at *T, def T, e elem[T]) value { return scalar[T]{at, def, e} }
func many[T any](at *[]T, e elem[T]) value     { return list[T]{at, ",", e} }
func lines(at *[]string, e elem[string]) value { return list[string]{at, ";", e} }
func str(at *string, def string) value         { return one(at, def, text(nil)) }
func onOff(at *bool, def bool) value           { return one(at, def, boolean()) }
func num(at *int, def, low, high int) value    { return one(at, def, whole(low, high)) }
func sizeOf(at *int, def, low int) value       { return one(at, def, size(low, maxInt)) }
func bytesOf(at *int64, def int64) value       { return one(at, def, size[int64](64<<10, math.MaxInt64)) }
func dur(at *time.Duration, def time.Duration, low, high time.Duration) value {
	return one(at, def, duration(low, high))
}

// options binds every declaration to its place in c. It is the only place
// where an option is declared.
func (c *Config) options() []*Option {
	all := slices.Concat(c.generalOptions(), c.limitOptions(), c.storeOptions(), c.syncOptions(), c.webOptions(), c.snapshotOptions(), c.contractOptions(), c.replicaOptions(), c.clusterOptions())
	out := make([]*Option, len(all))
	for i, d := range all {
		out[i] = &Option{declared: *d, Cluster: ofCluster(d.Key)}
	}
	return out
}

func (c *Config) generalOptions() []*declared {
	return []*declared{
		{"listen", "HOST:PORT for websocket and HTTP. Port 0 picks a free one. Any host but a loopback address needs public_url.", false,
			one(&c.Listen, "127.0.0.1:7447", listenAddr(false))},
		{"data", "Data folder, created with mode 0700. One daemon owns it at a time.", false,
			one(&c.Data, "./engramd-data", text(func(s string) error {
				if s == "" {
					return errEmpty
				}
				return nil
			}))},
		{"public_url", "The relay's own names, as clients reach it. AUTH, requests to vanish and signed HTTP requests must name one of them. A loopback listener also answers to its address.", false,
			many(&c.PublicURL, relayURL())},
		{"metrics_listen", "HOST:PORT of /metrics, apart from the public port. Empty turns it off. Let only the scraper reach it.", false,
			one(&c.MetricsListen, "127.0.0.1:9447", listenAddr(true))},
		{"metrics_pprof", "Serve Go's profiles under /debug/pprof/ on the metrics listener. They show the memory of the process.", false,
			onOff(&c.MetricsPprof, false)},
		{"compression", "Offer permessage-deflate to clients, without context takeover.", false,
			onOff(&c.Compression, true)},
		{"restore_allow", "Allow rollbacks to a snapshot, and import --replace, to take newer heads away (into quarantine).", true,
			onOff(&c.RestoreAllow, false)},
		{"relay_key", `Where the relay's identity key is: "auto" is the file relay.key in the data folder, made at the first start; a path names such a file; "env:NAME" names an environment variable that holds what such a file would. Keep a copy with the backups: without it the relay does not start.`, false,
			one(&c.RelayKey, "auto", keyPlace("auto, path or env:NAME"))},

		{"log.level", "Lowest level that is logged.", true, one(&c.Log.Level, "info", choice("debug", "info", "warn", "error"))},
		{"log.format", "Form of the log on standard error.", false, one(&c.Log.Format, "text", choice("text", "json"))},
		{"log.access", "Log one line for each HTTP request, and for each websocket connection when it ends. It says who called, what and for how long, but nothing of the question or answer.", true, onOff(&c.Log.Access, false)},

		{"info.name", "Name of the relay.", true, str(&c.Info.Name, "engramd")},
		{"info.description", "What the relay is for, in a sentence or two.", true,
			str(&c.Info.Description, "A relay for the memory of AI agents: engrams and contract memory are shown to their parties only.")},
		{"info.icon", "URL of a square picture.", true, str(&c.Info.Icon, "")},
		{"info.pubkey", "Pubkey of the operator, hex or npub.", true, one(&c.Info.Pubkey, "", pubkey(true))},
		{"info.contact", "How to reach the operator: a mailto: or https: URL.", true, str(&c.Info.Contact, "")},

		{"gate.wildcard", "A filter that names neither kinds nor the reader's own keys or ids is refused (reject), or served without events to which the reader is not a party (exclude: for relays that carry general traffic too).", true,
			one(&c.Gate.Wildcard, "reject", choice("reject", "exclude"))},
		{"gate.ids", "Who may read an engram or sealed contract entry by its full id: whoever names it (exempt), or only its parties (party).", true,
			one(&c.Gate.IDs, "exempt", choice("exempt", "party"))},
		{"gate.contracts", "Who may read plain contract memory: whoever names the contract (contract), only its parties (parties), or everybody (public).", true,
			one(&c.Gate.Contracts, "contract", choice("contract", "parties", "public"))},
		{"gate.rules", `Further gated kinds, one text each: KIND READERS [GRANTS], readers author, p or author,p; grants ids, d or ids,d. Built-in kinds cannot be weakened. In the environment and in a flag, rules are separated by semicolons.`, false,
			lines(&c.Gate.Rules, text(nil))},
		{"gate.replicas", "Pubkeys of relays that follow this one: they read everything that lies here, other people's memory and superseded versions too, and may do nothing else by it (docs/sync.md).", true,
			many(&c.Gate.Replicas, pubkey(false))},

		{"write.authors", "If not empty, only these pubkeys may write (and engrams that write.owners lets in).", true, many(&c.Write.Authors, pubkey(false))},
		{"write.owners", "If not empty, engrams are accepted whose owner (p tag) is listed and vouches for the agent: by a NIP-OA attestation (an auth tag on the event or in AUTH, or the x-auth-tag header over HTTP), or by an approval that the owner stored. Proposals are accepted too: from a listed owner to an agent he vouches for, and between agents whom listed owners vouch for (docs/operating.md).", true,
			many(&c.Write.Owners, pubkey(false))},
		{"write.kinds", "If not empty, only these kinds may be written.", true, many(&c.Write.Kinds, whole(0, 65535))},
		{"write.ban_authors", "Pubkeys that may not write.", true, many(&c.Write.BanAuthors, pubkey(false))},
		{"write.ban_kinds", "Kinds that may not be written.", true, many(&c.Write.BanKinds, whole(0, 65535))},
		{"write.program", "A program, and its arguments, that is asked about every event which the lists and rates let pass: a write policy plugin of strfry's (docs/write-policy.md). Without its answer, events are refused with error:. Imports and restores do not ask it.", true,
			many(&c.Write.Program, text(nil))},
		{"write.program_timeout", "Time for one answer of write.program. Then its writers get error: and it is started anew.", true,
			dur(&c.Write.ProgramTimeout, time.Second, 10*time.Millisecond, time.Minute)},

		{"read.auth_required", "Readers must prove a key, by AUTH or a signed request, to read anything. The relay's page and the owner's (web), its NIP-11 document, health and the description of its API stay open. This does not decide who may write (write).", true,
			onOff(&c.Read.AuthRequired, false)},
	}
}

func (c *Config) storeOptions() []*declared {
	return []*declared{
		{"timeouts.handshake", "Time for the headers of a request and for the websocket handshake.", false, dur(&c.Timeouts.Handshake, 10*time.Second, time.Second, time.Minute)},
		{"timeouts.write_stall", "Time without progress of a write after which its client is cut off.", true, dur(&c.Timeouts.WriteStall, 10*time.Second, 100*time.Millisecond, 10*time.Minute)},
		{"timeouts.ping", "How often idle connections are pinged.", true, dur(&c.Timeouts.Ping, 30*time.Second, time.Second, time.Hour)},
		{"timeouts.silence", "Time without a byte from a client, not even a pong, after which it counts as gone.", true, dur(&c.Timeouts.Silence, 75*time.Second, time.Second, 2*time.Hour)},
		{"timeouts.shutdown", "Time for finishing after SIGTERM. Then the connections that are left are cut off.", true, dur(&c.Timeouts.Shutdown, 10*time.Second, 100*time.Millisecond, 10*time.Minute)},

		{"auth.window", "How far created_at of an AUTH event may be from the relay's clock.", false, dur(&c.Auth.Window, 10*time.Minute, time.Second, 24*time.Hour)},
		{"auth.http_window", "How far created_at of the event in the Authorization header of an HTTP request may be from the relay's clock.", false, dur(&c.Auth.HTTPWindow, time.Minute, time.Second, time.Hour)},

		{"req.eose_hints", `Say in EOSE whether the answer is complete ("finish") or was cut by a limit ("more"), as NIP-67 has it.`, false, onOff(&c.Req.EOSEHints, true)},

		{"history.versions", "Superseded versions kept for each address; 0 keeps none. Contract memory is not counted.", true, num(&c.History.Versions, 100, 0, maxInt)},
		{"history.days", "Days that superseded versions are kept; 0 for ever. Contract memory is not counted.", true, num(&c.History.Days, 365, 0, 365000)},
		{"history.contract_days", "Days that superseded contract memory is kept after the contract's final state; 0 for ever.", true, num(&c.History.ContractDays, 0, 0, 365000)},

		{"retention.rules", `Events to remove by kind and age, one text each: KINDS AGE, KINDS max NUMBER, or both, such as "1,7 90d", "1000-9999 1y max 10000". KINDS are numbers and ranges by commas, or * for all; AGE, by created_at, is in h, d, w or y; max keeps the newest of all these kinds together. Kinds 5, 62, 30090, 30091 and 30174 are touched only where their number stands alone. In the environment and in a flag, rules are separated by semicolons.`, true,
			lines(&c.Retention.Rules, text(nil))},

		{"proxy.trusted", "Addresses or ranges of reverse proxies that the relay believes about the client's address. From anybody else the header is ignored.", true,
			many[netip.Prefix](&c.Proxy.Trusted, network())},
		{"proxy.header", "Header in which trusted proxies name the client. In a list (X-Forwarded-For) the last address that is not itself a trusted proxy counts.", true,
			one(&c.Proxy.Header, "X-Forwarded-For", httpHeader())},

		{"store.max_bytes", "Largest size of the database file; writes beyond it fail with error: and reads go on. 0 is no limit.", true, one(&c.Store.MaxBytes, int64(0), size[int64](0, math.MaxInt64))},
		{"store.readers", "Reads of the database that run at a time. A long read gives way to others in between. At least 2, because one is kept for look-ups by id and address.", false, num(&c.Store.Readers, 4, 2, 256)},
		{"store.max_batch", "Events that may share one commit.", false, num(&c.Store.MaxBatch, 1024, 1, 65536)},

		{"events.nats", "NATS broker, nats://HOST:PORT or tls://HOST:PORT; commas separate several. Empty is off. If no broker answers, everything else goes on.", false, str(&c.Events.NATS, "")},
		{"events.credentials", "File with NATS credentials (.creds) or an nkey seed, if the broker asks for them.", false, str(&c.Events.Credentials, "")},
		{"events.prefix", "Prefix of the subjects of snapshot events: PREFIX.AGENT.created, restored, deleted and PREFIX._all.gc.", false, str(&c.Events.Prefix, "engramd.snapshot")},
		{"events.mutations", "Publish each write to an agent's memory too, at engramd.mutated.AGENT.", true, onOff(&c.Events.Mutations, false)},
		{"admin.keys", "Pubkeys that may manage the relay with signed calls to its own URL. Empty: nobody.", true, many(&c.Admin.Keys, pubkey(false))},
	}
}

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

func (c *Config) webOptions() []*declared {
	return []*declared{
		{"web.enabled", "Serve the owner's page below /app/. It is the same for everybody and reads nothing at the relay: what it shows is decrypted in the browser. Off: there is nothing at /app/.", false, onOff(&c.Web.Enabled, true)},
	}
}

// maxDays is a thousand years.
const maxDays = 365_000

func (c *Config) snapshotOptions() []*declared {
	s := &c.Snapshot
	const year = 365 * 24 * time.Hour
	return []*declared{
		{"snapshot.root", "Folder of snapshots, ROOT/tenants/TENANT/snapshots/AGENT. Empty is the data folder.", false, str(&s.Root, "")},
		{"snapshot.keep", "Snapshots that retention keeps of each agent and tenant, pinned ones not counted. 0 is no limit.", true, num(&s.Keep, 30, 0, maxInt)},
		{"snapshot.keep_automatic", "The same for those that were made automatically: on schedule, and before a restore.", true, num(&s.KeepAutomatic, 30, 0, maxInt)},
		{"snapshot.max_age_days", "Days after which retention deletes a snapshot. The last verified one of each agent always stays. 0 is no limit.", true, num(&s.MaxAgeDays, 90, 0, maxDays)},
		{"snapshot.gc_interval", "How often the daemon applies retention and removes what dead processes left. It does so at its start, too.", true, dur(&s.GCInterval, time.Hour, time.Second, year)},
		{"snapshot.every", "How often the daemon makes a snapshot of each agent whose engrams changed since the last one. 0s is never.", true, dur(&s.Every, 0, 0, year)},
		{"snapshot.agents", "Agents whose memory the daemon snapshots on schedule (snapshot.every). Empty: all that have engrams.", true, many(&s.Agents, pubkey(false))},
		{"snapshot.recipients", "age recipients (age1… or an SSH public key) that every snapshot is encrypted to, unless who makes it says otherwise. Only who has an identity can verify and restore it.", true, many(&s.Recipients, text(nil))},
		{"snapshot.identity", "File of age identities, or an SSH private key, by which the daemon verifies and restores encrypted snapshots.", true, str(&s.Identity, "")},
		{"snapshot.trusted_keys", "Keys whose signatures under snapshots are trusted beside the relay's own, present and former ones: for example the key of a relay from which an agent moves here.", true, many(&s.TrustedKeys, pubkey(false))},
		{"snapshot.lock_timeout", "How long to wait for another process that works on the same agent's snapshots.", true, dur(&s.LockTimeout, time.Minute, 0, time.Hour)},
	}
}
