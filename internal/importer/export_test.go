package importer

// What tests of the edges need.
const (
	BatchLines = batchLines
	MaxLine    = maxLine
)
