// Package skills loads skills: folders in the Agent Skills format
// (agentskills.io) with a SKILL.md and optionally scripts/, references/ and
// assets/. The built-in skills are the folders below builtin/, embedded.
//
// A skill is runnable when its front matter names a program of its own
// (metadata: run: scripts/….py); such a skill needs no model. Everything in a
// skill's folder is untrusted text to the model and untrusted code to the
// host: it only ever runs in a sandbox session.
package skills
