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
	return slices.Concat(c.generalOptions(), c.limitOptions(), c.storeOptions(), c.snapshotOptions(), c.contractOptions(), c.clusterOptions())
}

func (c *Config) generalOptions() []*Option {
	return []*Option{
		{"listen", "Address of the public port, HOST:PORT, for websocket and HTTP. Port 0 picks a free one. A host other than a loopback address needs public_url. Change it where clients reach the relay without a reverse proxy on this machine.", false,
			one(&c.Listen, "127.0.0.1:7447", listenAddr(false))},
		{"data", "Data folder, created with mode 0700. A lock admits one daemon at a time; a second start is refused. Change it to keep the database on a disk of its own.", false,
			one(&c.Data, "./engramd-data", text(func(s string) error {
				if s == "" {
					return errEmpty
				}
				return nil
			}))},
		{"public_url", "The relay's names, as clients write them. AUTH, requests to vanish and signed HTTP requests are refused unless they name one of them; a loopback listener also answers to its address. Without it a loopback listener refuses what browsers send for pages that are not on a loopback host, a page from disk included. Set it as soon as clients on other machines, or web pages of other hosts, use the relay.", false,
			many(&c.PublicURL, relayURL())},
		{"metrics_listen", "Address of /metrics, HOST:PORT, apart from the public port. Empty turns metrics off. Change it where the scraper runs on another machine, and let only the scraper reach it.", false,
			one(&c.MetricsListen, "127.0.0.1:9447", listenAddr(true))},
		{"metrics_pprof", "Serve Go's profiles under /debug/pprof/ on the metrics listener. They show the memory of the process. Turn it on to find out what takes processor time or memory, and off again afterwards.", false,
			onOff(&c.MetricsPprof, false)},
		{"restore_allow", "Allow rollbacks to a snapshot, and import --replace, to move newer heads into quarantine. Without it both are refused. Turn it on for the time of a rollback.", true,
			onOff(&c.RestoreAllow, false)},
		{"relay_key", `Place of the relay's identity key: "auto" is the file relay.key in the data folder, made at the first start; a path names such a file; "env:NAME" names an environment variable with the content of such a file. Without the key the relay does not start, so keep a copy with the backups. Change it where secrets come from a secret store.`, false,
			one(&c.RelayKey, "auto", keyPlace("auto, path or env:NAME"))},

		{"log.level", "Lowest level of the lines that are logged. Lines below it are dropped. Set debug to follow single connections for a while.", true, one(&c.Log.Level, "info", choice("debug", "info", "warn", "error"))},
		{"log.format", "Form of the log on standard error. Set json where a collector parses the log.", false, one(&c.Log.Format, "text", choice("text", "json"))},
		{"log.access", "Log one line for each HTTP request, and for each websocket connection when it ends: the caller, the endpoint and the time, nothing of the question or answer. Turn it on to find out which clients cause load.", true, onOff(&c.Log.Access, false)},

		{"info.name", "Name of the relay in its NIP-11 document and on its page. Change it to a name that your users know.", true, str(&c.Info.Name, "engramd")},
		{"info.description", "Purpose of the relay in one or two sentences, for its NIP-11 document and its page. Change it to say whom the relay serves.", true,
			str(&c.Info.Description, "A relay for the memory of AI agents: engrams and contract memory are shown to their parties only.")},
		{"info.icon", "URL of a square picture for the NIP-11 document. Empty leaves it out.", true, str(&c.Info.Icon, "")},
		{"info.pubkey", "Pubkey of the operator for the NIP-11 document. Empty leaves it out. Set it where users shall reach you over Nostr.", true, one(&c.Info.Pubkey, "", pubkey(true))},
		{"info.contact", "Contact of the operator for the NIP-11 document, a mailto: or https: URL. Empty leaves it out. Set it on a relay with users that do not know you.", true, str(&c.Info.Contact, "")},

		{"gate.wildcard", "Answer to filters that name neither kinds nor the reader's own keys or ids: a refusal (reject), or the events without those to which the reader is not a party (exclude). Set exclude on a relay that carries general traffic too.", true,
			one(&c.Gate.Wildcard, "reject", choice("reject", "exclude"))},
		{"gate.ids", "Readers of an engram or sealed contract entry by its full id: everyone who names the id (exempt), or its parties only (party). Set party where ids may become known outside.", true,
			one(&c.Gate.IDs, "exempt", choice("exempt", "party"))},
		{"gate.contracts", "Readers of plain contract memory: everyone who names the contract (contract), its parties (parties), or all (public). Other readers do not learn that it exists. Set parties where contract ids may become known outside.", true,
			one(&c.Gate.Contracts, "contract", choice("contract", "parties", "public"))},
		{"gate.rules", "Further gated kinds, one text each: KIND READERS [GRANTS]; readers author, p or author,p; grants ids, d or ids,d. Other readers do not learn that such events exist. Built-in kinds cannot be weakened. Set it for private kinds of your own. In the environment and in a flag, rules are separated by semicolons.", false,
			lines(&c.Gate.Rules, text(nil))},
		{"gate.replicas", "Pubkeys of relays that follow this one. They read all events, other people's memory and superseded versions too, and get no other right (docs/sync.md). Set it on the relay that is followed.", true,
			many(&c.Gate.Replicas, pubkey(false))},

		{"write.authors", "Pubkeys that may write. Events of other authors are refused, but for engrams that write.owners admits. Empty admits all. Set it on a private relay.", true, many(&c.Write.Authors, pubkey(false))},
		{"write.owners", "Owners whose agents may write engrams. The owner in the p tag is listed and vouches for the agent: by a NIP-OA attestation (an auth tag on the event or in AUTH, or the x-auth-tag header over HTTP), or by a stored approval. Proposals are admitted from a listed owner to an agent of that owner, and between agents of listed owners (docs/operating.md). Other events are refused unless write.authors lists their author. Empty admits all. Set it to serve known owners without listing each agent.", true,
			many(&c.Write.Owners, pubkey(false))},
		{"write.kinds", "Kinds that may be written. Other kinds are refused. Empty admits all. Set it on a relay for memory alone.", true, many(&c.Write.Kinds, whole(0, 65535))},
		{"write.ban_authors", "Pubkeys that may not write. Their events are refused; those stored before stay. Add an author that misbehaves.", true, many(&c.Write.BanAuthors, pubkey(false))},
		{"write.ban_kinds", "Kinds that may not be written. They are refused; events stored before stay. Add a kind that the relay shall not carry.", true, many(&c.Write.BanKinds, whole(0, 65535))},
		{"write.program", "A program with its arguments that judges every event which the lists and rates admit: a write policy plugin of strfry's (docs/write-policy.md). Without its answer, events are refused with error:. Imports and restores are exempt. Set it for rules that lists cannot express.", true,
			many(&c.Write.Program, text(nil))},
		{"write.program_timeout", "Time for one answer of write.program. After it the event is refused with error: and the program restarted. Raise it for a program that asks another service.", true,
			dur(&c.Write.ProgramTimeout, time.Second, 10*time.Millisecond, time.Minute)},

		{"read.auth_required", "Require a proved key, by AUTH or a signed request, for every read. Other reads are refused with auth-required:. The landing page, the owner's page (web), the NIP-11 document, health and the description of the API stay open. Turn it on for a relay without anonymous readers.", true,
			onOff(&c.Read.AuthRequired, false)},
	}
}

func (c *Config) storeOptions() []*Option {
	return []*Option{
		{"timeouts.shutdown", "Time to finish after SIGTERM. Connections that are left then are cut off, and the exit code is 1. Keep it below the time that the service manager waits before it kills.", true, dur(&c.Timeouts.Shutdown, 10*time.Second, 100*time.Millisecond, 10*time.Minute)},

		{"history.versions", "Superseded versions kept for each address. The oldest beyond it are removed; 0 keeps none. Contract memory is not counted. Lower it to save disk, raise it to undo further back.", true, num(&c.History.Versions, 100, 0, maxInt)},
		{"history.days", "Days that superseded versions are kept. Older ones are removed; 0 keeps them without limit. Contract memory is not counted. Lower it to save disk, raise it to undo further back.", true, num(&c.History.Days, 365, 0, 365000)},
		{"history.contract_days", "Days that superseded contract memory is kept after the contract's final state. Then it is removed; 0 keeps it without limit. Set it once disputes about old contracts are closed.", true, num(&c.History.ContractDays, 0, 0, 365000)},

		{"retention.rules", `Events to remove by kind and age, one text each: KINDS AGE, KINDS max NUMBER, or both, such as "1,7 90d", "1000-9999 1y max 10000". KINDS are numbers and ranges by commas, or * for all; AGE, by created_at, is in h, d, w or y; max keeps the newest of all these kinds together. Kinds 5, 62, 30090, 30091 and 30174 are touched only where their number stands alone. Set it on a relay that carries general traffic too. In the environment and in a flag, rules are separated by semicolons.`, true,
			lines(&c.Retention.Rules, text(nil))},

		{"proxy.trusted", "Addresses or ranges of reverse proxies that name the client's address in a header. From other peers the header is ignored. Set it behind a proxy, else all clients share the proxy's budget.", true,
			many[netip.Prefix](&c.Proxy.Trusted, network())},
		{"proxy.header", "Header in which trusted proxies name the client. In a list (X-Forwarded-For) the last address that is not a trusted proxy counts. Change it for a proxy that uses another header.", true,
			one(&c.Proxy.Header, "X-Forwarded-For", httpHeader())},

		{"store.max_bytes", "Largest size of the database file. Writes beyond it are refused with error: and reads continue. Its last tenth is for keys that have been known for a day, where everybody may write. auto is what leaves a tenth of the disk, measured at each start and reload, and half of what is free where hardly as much is; in a cluster the node that takes an event goes by it, and no file has a limit. 0 is no limit. Set it where the relay shares a disk.", true, one(&c.Store.MaxBytes, Auto, orAuto(size[int64](0, math.MaxInt64)))},

		{"events.nats", "NATS broker for messages about snapshots and writes, nats://HOST:PORT or tls://HOST:PORT; commas separate several. Empty is off. Without a broker that answers, messages are dropped and all else continues. Set it where other services act on snapshots.", false, str(&c.Events.NATS, "")},
		{"events.credentials", "File with NATS credentials (.creds) or an nkey seed for events.nats. Set it where the broker asks for them.", false, str(&c.Events.Credentials, "")},
		{"events.prefix", "Prefix of the subjects of snapshot messages: PREFIX.AGENT.created, restored, deleted and PREFIX._all.gc. Change it where several relays share a broker.", false, str(&c.Events.Prefix, "engramd.snapshot")},
		{"events.mutations", "Publish each write to an agent's memory too, at engramd.mutated.AGENT. Turn it on where other services follow writes.", true, onOff(&c.Events.Mutations, false)},
		{"admin.keys", "Pubkeys that may manage the relay with signed calls to its URL. Calls of other keys are refused. Empty turns management off. Set it to manage the relay from another machine.", true, many(&c.Admin.Keys, pubkey(false))},
		{"sync.serve", "Answer reconciliations (NIP-77), by which clients and relays find differences without reading everything. Off: NEG-OPEN is answered with NEG-ERR, and NIP-11 does not list 77. Turn it off where they cost too much processor time.", true, onOff(&c.Sync.Serve, true)},
		{"web.enabled", "Serve the owner's page below /app/, the same bytes for all; the browser decrypts what it shows. Off: /app/ is not found. Turn it off where owners use another page.", false, onOff(&c.Web.Enabled, true)},
		{"replica", "Relays that this one follows, one [[replica]] table each: url; key, the path of a file with the secret key that asks (nsec or 64 hex digits; not readable by others); filter, a NIP-01 filter as JSON text, if not everything; interval between looks for what was missed (default 1h0m0s); live, whether what arrives is taken at once (default true). This relay gets what that key may read there (docs/sync.md). Set it to keep a second copy. In the environment and in a flag: URL key=PATH interval=10m, separated by semicolons.", true,
			list[Replica]{&c.Replica, ";", replica()}},
	}
}

// maxDays is a thousand years.
const maxDays = 365_000

func (c *Config) snapshotOptions() []*Option {
	s := &c.Snapshot
	const year = 365 * 24 * time.Hour
	return []*Option{
		{"snapshot.root", "Folder of snapshots, ROOT/tenants/TENANT/snapshots/AGENT. Empty is the data folder. Change it to keep snapshots on another disk than the database.", false, str(&s.Root, "")},
		{"snapshot.keep", "Snapshots made by hand that retention keeps of each agent and tenant, pinned ones not counted. The oldest beyond it are deleted. 0 is no limit. Lower it to save disk.", true, num(&s.Keep, 30, 0, maxInt)},
		{"snapshot.keep_automatic", "Automatic snapshots, on schedule and before a restore, that retention keeps of each agent and tenant, pinned ones not counted. The oldest beyond it are deleted. 0 is no limit. Raise it where snapshot.every is short.", true, num(&s.KeepAutomatic, 30, 0, maxInt)},
		{"snapshot.max_age_days", "Days after which retention deletes a snapshot. The last verified one of each agent stays. 0 is no limit. Raise it to go back further.", true, num(&s.MaxAgeDays, 90, 0, maxDays)},
		{"snapshot.every", "Time between scheduled snapshots of each agent whose engrams changed. 0s is never. Set it to the loss that you accept.", true, dur(&s.Every, 0, 0, year)},
		{"snapshot.agents", "Agents of the schedule (snapshot.every). Empty: all that have engrams. Set it where only some agents need snapshots.", true, many(&s.Agents, pubkey(false))},
		{"snapshot.recipients", "age recipients (age1… or an SSH public key) that every snapshot is encrypted to, unless its request names others. Verifying and restoring one then needs an identity. Set it where snapshots leave this machine.", true, many(&s.Recipients, text(nil))},
		{"snapshot.identity", "File of age identities, or an SSH private key, by which the daemon verifies and restores encrypted snapshots. Without it encrypted ones are not verified here. Set it beside snapshot.recipients.", true, str(&s.Identity, "")},
		{"snapshot.trusted_keys", "Keys whose signatures under snapshots are trusted beside the relay's own, present and former ones. A snapshot signed by another key is refused unless the request trusts that key. Add the key of a relay from which an agent moves here.", true, many(&s.TrustedKeys, pubkey(false))},
	}
}
