//go:build !race

package plans

const (
	every  = 1
	rounds = 600
)
