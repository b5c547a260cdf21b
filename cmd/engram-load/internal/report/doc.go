// Package report turns results of package bench into a page of Markdown (targets
// met or missed, a table of medians) and a CSV of all figures with their spreads. A
// run that failed is shown as a failure, never as a figure.
package report
