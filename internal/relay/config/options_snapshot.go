package config

import "time"

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
