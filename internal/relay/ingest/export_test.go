package ingest

// Names for tests of the bounds.
const (
	BatchLines = batchLines
	MaxLine    = maxLine
)
