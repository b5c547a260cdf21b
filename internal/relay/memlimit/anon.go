package memlimit

import (
	"bytes"
	"os"
	"strconv"
)

// anonymous returns what the process has in memory that no file stands behind,
// as Linux says; 0 where it does not.
func anonymous() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return anonIn(status)
}

// anonIn finds RssAnon in a status file of proc(5), which is in kB.
func anonIn(status []byte) int64 {
	_, rest, found := bytes.Cut(status, []byte("\nRssAnon:"))
	if !found {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("kB")))), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
