// Package config reads what an operator has set: one strict YAML file, the
// environment's variables and the secrets beside them.
//
// It promises that nothing is guessed or dropped in silence: an unknown key is
// an error with its line and the nearest known key, a value that cannot be
// read names its line, and each setting remembers where it came from, which
// `sandpiper config show` prints. Secrets come from the environment or from
// files that it names, never from the YAML, and have a type of their own that
// formats as dots.
//
// A sandpiper.yaml or a skills folder that merely lies in the working folder
// may be somebody else's: it is not read, and Loaded.Notices says so.
package config
