// Package hostile has clients that attack a relay, and measures those beside them
// (make nightly).
package hostile
