// Package layout holds the test that keeps imports going downwards only
// (00-overview of the design, "Layout"; drawn in ARCHITECTURE.md).
package layout
