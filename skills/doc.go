// Package skills loads skills: folders in the Agent Skills format
// (agentskills.io) with a SKILL.md and optionally scripts/, references/ and
// assets/. The built-in skills are the folders below builtin/, embedded.
//
// A skill is runnable when its front matter names a program of its own
// (metadata: run: scripts/….py); such a skill needs no model. Everything in a
// skill's folder is untrusted text to the model and untrusted code to the
// host: it only ever runs in a sandbox session.
//
// Load reads a skill's files once, through os.Root and without following links,
// and keeps them: what a session is sent is what was hashed into Version,
// whatever happens to the folder meanwhile. A broken skill is named by Problems
// with file and line and leaves the others alone; a name that stands twice
// belongs to the first source that has it, and the other is named. Folders
// called evals are a skill's own tests and are not sent to sessions; files that
// begin with a dot are no part of a skill.
//
// Choose finds the runnable skill for a request without a model, Index fits the
// descriptions of any number of skills into a prompt, Lint and New serve their
// authors. Package skilltest runs the evals.
package skills
