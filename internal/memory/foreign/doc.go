// Package foreign reads what other tools remember, and says what it would be
// here: texts at slugs, with front matter. It is pure over an fs.FS: it writes
// nothing, knows no clock and no network.
//
// Each Source is one tool's form, in the table Sources. Read gives Items and what
// was Left: what it does not understand is listed with a reason and never
// dropped silently. What is read was written by others. It is bounded in files,
// bytes, depth and lines, must be text, and takes no field for itself that only
// engramd's tools give (foreign): such keys get another name.
//
// Plan compares items with what is in memory. Reading the same again plans to
// write nothing, and a slug at which another text stands is never overwritten.
package foreign
