package session

import "engramd/internal/metrics"

// Metrics is what sessions count; *metrics.Metrics is one.
type Metrics interface {
	ConnectionOpened()
	ConnectionClosed()
	ConnectionRefused(reason string)
	SubscriptionsAdd(n int)
	FrameRead(label string)
	FrameRefused(reason string)
	ReadPaused()
	SlowReaderCut(reason string)
	AuthDone(ok bool)
	StoredSent(n int)
	LiveSent(n int)
}

var _ Metrics = (*metrics.Metrics)(nil)

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) ConnectionOpened()        {}
func (noMetrics) ConnectionClosed()        {}
func (noMetrics) ConnectionRefused(string) {}
func (noMetrics) SubscriptionsAdd(int)     {}
func (noMetrics) FrameRead(string)         {}
func (noMetrics) FrameRefused(string)      {}
func (noMetrics) ReadPaused()              {}
func (noMetrics) SlowReaderCut(string)     {}
func (noMetrics) AuthDone(bool)            {}
func (noMetrics) StoredSent(int)           {}
func (noMetrics) LiveSent(int)             {}
