// Package query finds events by filters: plans, pages, counts and searches. Every
// read takes a gate.Scope, and every statement has its condition (scope_sql.go).
package query
