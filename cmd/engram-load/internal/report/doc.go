// Package report turns results of package bench into a page of Markdown with
// plots (SVG): tables with medians and spreads, ratios, targets met or missed,
// cost against size. A run that failed is shown as a failure, never as a
// figure.
package report
