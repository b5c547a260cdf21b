package rig

import (
	"engramd/internal/e2e/relaytest"
)

// The people of the gate's table.
var (
	GateAgent    = relaytest.Agent()
	GateOwner    = relaytest.Owner()
	GateSecond   = relaytest.NewKey(3) // another agent of the same owner
	GateWorker   = relaytest.NewKey(4) // party to the agent's contracts
	GateStranger = relaytest.Stranger()
	GateJudge    = relaytest.NewKey(5) // arbitrator of some of them; the other agent is their decider

	GateReplica = relaytest.NewKey(6) // of gate.replicas, and party to nothing
)
