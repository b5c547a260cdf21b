// Package vault seals what the contract memory API stores and what must not be
// readable on disk: private entries, and the secret keys that the relay holds
// for agents.
//
// There is one master key of 32 random bytes. It is in
// the data folder, in a file that the operator names, or in an environment
// variable, and never in the database, so that a copy of the database alone
// shows nothing. HKDF-SHA-256 derives from it, each under a name of its own,
// the key that seals and a check value that the database keeps; and the relay's
// identity key for databases from the time when it had none of its own.
//
// A sealed value is
//
//	1 byte   version, 1
//	4 bytes  of which master key: the first of its check value
//	24 bytes nonce, random
//	…        XChaCha20-Poly1305 of the plaintext; header and row are its associated data
//
// The row (see Row) says which table, row and column the value belongs to. It
// opens there and nowhere else, so that somebody who can write to the database
// cannot move one agent's note, or key, to another.
//
// Rotate changes the master key: the new one is durable beside the key file
// before the database seals everything anew and notes its check value, in one
// commit; after that it takes the file's place. At the next start, Open finds
// out which of the two counts.
package vault
