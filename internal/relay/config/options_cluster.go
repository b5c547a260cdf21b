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

func (c *Config) clusterOptions() []*declared {
	k := &c.Cluster
	return []*declared{
		{clusterSwitch, "This process is one of several nodes that hold the same memory: what is written enters a log of NATS JetStream, and each node executes what the log says.", false, onOff(&k.Enabled, false)},
		{"cluster.urls", "Servers of the log, nats://HOST:PORT or tls://HOST:PORT. Where they are not on this machine, they must be tls:// and want credentials.", false, many(&k.URLs, serverURL("nats", "tls"))},
		{"cluster.stream", "The log's stream, which holds nothing else.", false, one(&k.Stream, "engramd", streamName())},
		{"cluster.replicas", "Servers of the log that hold each message: 1, 3 or 5. What is acknowledged is on a majority of them.", false, one(&k.Replicas, 3, oddReplicas())},
		{"cluster.credentials", "File with NATS credentials (.creds) or an nkey seed, in an account for the cluster alone: who may publish there owns the relay.", false, str(&k.Credentials, "")},
		{"cluster.tls_ca", "PEM file of the authorities that the servers' certificates are checked by. Empty: those of the system.", false, str(&k.TLSCA, "")},
		{"cluster.tls_cert", "PEM file of this node's own certificate, if the servers ask for one.", false, str(&k.TLSCert, "")},
		{"cluster.tls_key", "PEM file of that certificate's key.", false, str(&k.TLSKey, "")},
		{"cluster.monitor", "Monitoring URLs (http:// or https://) of every server of the log: there it is checked at the start and each minute that they sync what they acknowledge.", false, many(&k.Monitor, serverURL("http", "https"))},
		{"cluster.system_credentials", "File with credentials of the servers' system account, by which the same is checked without cluster.monitor.", false, str(&k.SystemCredentials, "")},
		{"cluster.trust_sync", "Do not check whether the servers sync what they acknowledge (sync_interval: always). If they do not, acknowledged events are lost when machines fail together.", false, onOff(&k.TrustSync, false)},
		{"cluster.reads", "What answers a read: everything that any node acknowledged before it (latest), or whatever this node has executed (local).", false, one(&k.Reads, "latest", choice("latest", "local"))},
		{"cluster.name", "Name of this node in reports to operators. Empty: the host's name.", false, str(&k.Name, "")},
	}
}

// ofCluster reports whether an option is the same on all nodes of a cluster:
// what becomes of a command depends on it, or who may read what, or what the
// relay is called.
func ofCluster(key string) bool {
	switch {
	case slices.Contains([]string{"write.program", "write.program_timeout"}, key):
		return false // the node that takes an event asks
	case slices.Contains([]string{"public_url", "limits.author_bytes", "limits.author_events", "limits.future", "contracts.any_id", "contracts.publish_to"}, key):
		return true
	}
	section, _, _ := strings.Cut(key, ".")
	return slices.Contains([]string{"gate", "write", "history", "retention"}, section)
}

// check finds what is wrong between the options of a cluster.
func (k *Cluster) check(maxBytes int64) (errs []error) {
	if !k.Enabled {
		return nil
	}
	if maxBytes != 0 {
		errs = append(errs, errors.New("store.max_bytes must be 0 in a cluster: a node that refuses for want of room what others store would no longer have the same rows"))
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
