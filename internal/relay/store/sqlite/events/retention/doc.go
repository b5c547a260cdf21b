// Package retention removes what filters of the operator match, and what
// retention.rules do not keep. It finds that on read connections, and has it removed
// in bounded transactions of the writer.
package retention
