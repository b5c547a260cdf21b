// Package history reads what is not, or not only, in heads: superseded versions,
// everything in the order of arrival, and a memory as it was at an instant.
package history
