// Package memlimit keeps the process below a soft limit: Go's collector works
// harder the nearer it is, and whoever serves requests is told when what is in
// use, garbage not counted, comes too near.
//
// Go's own limit does not know of memory that C allocates, SQLite's caches
// above all. It is what the process has for itself (RssAnon of Linux) beyond
// what Go has mapped, and is taken off Go's limit. Memory that the kernel holds
// for sockets and the file cache is in neither.
package memlimit
