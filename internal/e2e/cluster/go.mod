module engramd/internal/e2e/cluster

go 1.26.0

require (
	engramd v0.0.0
	github.com/nats-io/nats-server/v2 v2.15.2
	github.com/nats-io/nats.go v1.55.0
	github.com/nats-io/nkeys v0.4.17
)

replace engramd => ../../..
