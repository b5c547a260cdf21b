// Package vault seals what the contract memory API keeps and must not show on disk: private entries and the secret keys
// of identities that the relay holds for agents.
//
// One master key, 32 random bytes, does it all (30-nip-temp, "Signing"). It lies in the data folder, in a file that the
// operator names, or in an environment variable, and never in the database, so that a copy of the database alone shows
// nothing. From it come, by HKDF-SHA-256 and each under a name of its own, the key that seals and a check value that
// the database keeps; and the relay's identity key on databases of the time when it had none of its own.
//
// A sealed value is
//
//	1 byte   version, 1
//	4 bytes  of which master key: the first of its check value
//	24 bytes nonce, random
//	…        XChaCha20-Poly1305 of the plaintext; header and row are its associated data
//
// The row (see Row) says which table, row and column the value belongs to: it opens there and nowhere else, so that who
// can write the database cannot move one agent's note, or key, to another.
//
// Rotate changes the master key: the new one lies durable beside the file before the database seals everything anew and
// notes its check value, in one commit, and takes the file's place after that. A start finds out which of the two counts.
package vault
