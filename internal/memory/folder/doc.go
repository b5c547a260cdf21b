// Package folder keeps a memory and a folder of text files alike, so that
// Obsidian, git and grep work on what an agent remembers.
//
// Three sides are compared: the folder, the memory, and what both were when they
// last were the same (the state, in .engram/state.json of the folder). Plan is
// pure and decides for each slug; a Run does what was decided.
//
// # Invariants
//
//   - A text that is on one side only is never written over and never removed:
//     what was changed on both sides is a conflict, and what was changed on one
//     and removed on the other stays.
//   - A file goes only if the memory has a tombstone, every relay said so, the
//     file is as it was, and deleting was asked for. A memory goes only if its
//     file is certainly gone, the memory is as it was, and likewise.
//   - Each step may be the last one: the state says beforehand what a step will
//     write, so that the next run neither loses it nor takes it for somebody
//     else's change.
//   - Nothing outside the folder is read or written, and no link is followed.
package folder
