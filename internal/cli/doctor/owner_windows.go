package doctor

// ownFile has nothing to say: whoever may read the file is in its rights, which
// are looked at when it is read.
func ownFile(string) error { return nil }
