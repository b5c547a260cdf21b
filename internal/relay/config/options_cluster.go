package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// clusterSwitch is the option that makes a process one node of several.
const clusterSwitch = "cluster.enabled"

func (c *Config) clusterOptions() []*Option {
	k := &c.Cluster
	return []*Option{
		{clusterSwitch, "Make this process one of several nodes that hold the same memory: writes enter a log of NATS JetStream, and each node executes the log. Turn it on to survive the loss of a machine (docs/cluster.md).", false, onOff(&k.Enabled, false)},
		{"cluster.urls", "Servers of the log, nats://HOST:PORT or tls://HOST:PORT. Servers on other machines must be tls:// and need credentials, or the start is refused. List all servers, so that the node finds one that runs.", false, many(&k.URLs, serverURL("nats", "tls"))},
		{"cluster.stream", "The log's stream, for this cluster alone. Change it where several clusters share servers.", false, one(&k.Stream, "engramd", streamName())},
		{"cluster.replicas", "Servers of the log that hold each message: 1, 3 or 5. Acknowledged messages are on a majority of them. Set 5 to survive the loss of two servers.", false, one(&k.Replicas, 3, oddReplicas())},
		{"cluster.credentials", "File with NATS credentials (.creds) or an nkey seed, in an account for the cluster alone: publishing there is owning the relay. Set it where the servers are on other machines.", false, str(&k.Credentials, "")},
		{"cluster.tls_ca", "PEM file of the authorities that check the servers' certificates. Empty: those of the system. Set it for certificates of your own authority.", false, str(&k.TLSCA, "")},
		{"cluster.tls_cert", "PEM file of this node's certificate. It needs cluster.tls_key. Set it where the servers ask for one.", false, str(&k.TLSCert, "")},
		{"cluster.tls_key", "PEM file of the key of cluster.tls_cert. Set both where the servers ask for a certificate.", false, str(&k.TLSKey, "")},
		{"cluster.monitor", "Monitoring URLs (http:// or https://) of every server of the log, where cluster.system_credentials is not set. There the node checks, at the start and each minute, that the servers sync before they acknowledge (docs/cluster-changes.md). Set it where you may not have a user of the system account; each new server must be added on all nodes.", false, many(&k.Monitor, serverURL("http", "https"))},
		{"cluster.system_credentials", "File with credentials of a user of the servers' system account. As that user the node asks all servers that there are, at the start and each minute, whether they sync before they acknowledge. Set it: cluster init and a token do.", false, str(&k.SystemCredentials, "")},
		{"cluster.trust_sync", "Skip the check that servers sync before they acknowledge (sync_interval: always). If they do not, acknowledged events are lost when machines fail together. Turn it on only where the check is impossible and the setting known.", false, onOff(&k.TrustSync, false)},
		{"cluster.reads", "Freshness of reads: all that any node acknowledged before (latest), all that this node has executed (local), or over HTTP all that the client's key has seen before, and otherwise as local (session). latest asks the other nodes for each read, or the log where one does not answer, and fails without both. Set local where reads must be served while the log is away.", false, one(&k.Reads, "latest", choice("latest", "local", "session"))},
		{"cluster.name", "Name of this node in reports to operators. Empty: the host's name. Set it where host names are not telling.", false, str(&k.Name, "")},
	}
}

// Cluster reports whether an option is the same on all nodes of a cluster: what
// becomes of a command depends on it, or who may read what, or what the relay is
// called.
func (o *Option) Cluster() bool {
	switch key := o.Key; {
	case slices.Contains([]string{"write.program", "write.program_timeout"}, key):
		return false // the node that takes an event asks
	case slices.Contains([]string{"public_url", "limits.author_bytes", "limits.author_events", "limits.future", "contracts.any_id", "contracts.publish_to"}, key):
		return true
	}
	return slices.Contains([]string{"gate", "write", "history", "retention"}, o.section())
}

// check finds what is wrong between the options of a cluster.
func (k *Cluster) check(maxBytes int64) (errs []error) {
	if !k.Enabled {
		return nil
	}
	if maxBytes > 0 {
		errs = append(errs, errors.New("store.max_bytes must be auto or 0 in a cluster: a node that refuses for want of room what others store would no longer have the same rows"))
	}
	if len(k.URLs) == 0 {
		errs = append(errs, errors.New("cluster.enabled needs cluster.urls, which is empty"))
	}
	if (k.TLSCert == "") != (k.TLSKey == "") {
		errs = append(errs, errors.New("cluster.tls_cert and cluster.tls_key go together: one of them is empty"))
	}
	for _, raw := range k.URLs {
		u, err := url.Parse(raw)
		switch {
		case err != nil || isLoopback(u.Hostname()):
		case u.Scheme != "tls":
			errs = append(errs, fmt.Errorf("cluster.urls: %s is not on this machine, so it must be tls://", raw))
		case k.Credentials == "":
			errs = append(errs, fmt.Errorf("cluster.urls: %s is not on this machine, so it needs cluster.credentials", raw))
		}
	}
	return errs
}

// oddReplicas takes numbers of servers that have a majority worth its price.
func oddReplicas() elem[int] {
	e := whole(1, 5)
	parse := e.parse
	e.parse = func(s string) (int, error) {
		n, err := parse(s)
		if err == nil && n%2 == 0 {
			err = fmt.Errorf("%d is not 1, 3 or 5: an even number survives no more than the odd one below it", n)
		}
		return n, err
	}
	return e
}

// serverURL takes the URL of a server by one of the schemes, without a secret
// in it: configurations are printed.
func serverURL(schemes ...string) elem[string] {
	e := text(func(s string) error {
		u, err := url.Parse(s)
		switch {
		case err != nil:
			return errors.New("one of the URLs does not parse") // it may have a password in it
		case u.User != nil:
			return errors.New("a URL has a user in it: name files with credentials instead")
		case !slices.Contains(schemes, u.Scheme) || u.Hostname() == "":
			return fmt.Errorf("%q is not a URL such as %s://HOST:PORT", s, schemes[0])
		case slices.Contains(schemes, "nats") && strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
			return fmt.Errorf("%q: no path, query or fragment", s)
		}
		if _, _, err := net.SplitHostPort(u.Host); err != nil && slices.Contains(schemes, "nats") {
			return fmt.Errorf("%q has no port", s)
		}
		return nil
	})
	e.one = strings.Join(schemes, ":// or ") + ":// URL"
	e.many = e.one + "s"
	return e
}

var namesStream = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// streamName takes what both the servers and their folders can be named by.
func streamName() elem[string] {
	return text(func(s string) error {
		if !namesStream.MatchString(s) {
			return fmt.Errorf("%q is not 1 to 64 of A–Z a–z 0–9 _ -", s)
		}
		return nil
	})
}
