// Package sqlite is the store on SQLite: Open puts together the packages below
// it, each of which has its own part of the database.
//
//	engine  connections, the one writer, readers, migrations, backup; it knows no event
//	events  what an event does, and how a filter is answered
package sqlite
