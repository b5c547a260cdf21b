// Package recalled measures what an agent's memory finds, returns and tells, on
// several sets at once, beside BM25 and SQLite's full text search, and what each
// weight of the recipe brings on any of them.
package recalled
