package httpauth

// Len returns how many ids are remembered.
func (m *Guard) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.used)
}
