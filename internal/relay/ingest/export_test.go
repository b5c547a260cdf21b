package importer

// Names for tests of the bounds.
const (
	BatchLines = batchLines
	MaxLine    = maxLine
)
